"""Runs dsflash-compile and dsflash-run for the integration tests."""

import json
import pathlib
import re
import subprocess

import safetensors


class Tools:
    """`device`: the kernels are PTX and run there; of the architecture in its options, as simt:sm_90a."""

    def __init__(self, bin_dir, work_dir, device=None):
        self.bin, self.work = pathlib.Path(bin_dir), pathlib.Path(work_dir)
        self.work.mkdir(parents=True, exist_ok=True)
        chips = re.findall(r"sm_\w+", device or "") or ["sm_80"]
        self.compile_flags = [f"--target=nvptx:{chips[0]}", "--ptxas=none"] if device else []
        self.run_flags = [f"--device={device}"] if device else []

    def command(self, tool, *arguments):
        if tool == "dsflash-compile":
            arguments += ("--no-cache",)
        done = subprocess.run([self.bin / tool, *map(str, arguments)], capture_output=True)
        if done.returncode:
            raise SystemExit(f"{tool} {' '.join(map(str, arguments))}\nexit {done.returncode}\n{done.stderr.decode()}")
        return done

    def fail(self, tool, *arguments):
        """The first line of a run that must fail."""
        done = subprocess.run([self.bin / tool, *map(str, arguments)], capture_output=True)
        if done.returncode != 1:
            raise SystemExit(f"{tool} {' '.join(map(str, arguments))}\nexit {done.returncode}, expected 1\n{done.stderr.decode()}")
        return done.stderr.decode().splitlines()[0]

    def compile(self, model, name, *flags):
        out = self.work / f"{name}.dsflash"
        self.command("dsflash-compile", model, "-o", out, *self.compile_flags, *flags)
        return out

    def changed(self, model, name, **text_config):
        """A folder with the same weights under another config."""
        model, folder = pathlib.Path(model), self.work / name
        folder.mkdir(exist_ok=True)
        for path in model.iterdir():
            if path.name != "config.json" and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path.resolve())
        config = json.loads((model / "config.json").read_text())
        config["text_config"].update(text_config)
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    def config(self, model):
        """What the compiler reads in a model's config.json."""
        path = self.work / "config.json"
        self.command("dsflash-compile", pathlib.Path(model) / "config.json", "--emit=config", "-o", path)
        return json.loads(path.read_text())

    def run(self, artifact, *prompts, logits=False, trace=False, flags=()):
        """Runs token prompts greedily; gives the tensors of --logits and of --trace. `artifact` is a compiled model, or
        a tuple of one and more arguments."""
        arguments, out = [], []
        for i, prompt in enumerate(prompts):
            path = self.work / f"prompt{i}.json"
            path.write_text(json.dumps([int(t) for t in prompt]))
            arguments += ["--tokens", path]
        for wanted, option in ((logits, "--logits"), (trace, "--trace")):
            if wanted:
                path = self.work / f"{option[2:]}.safetensors"
                arguments += [option, path]
                out.append(path)
        model = artifact if isinstance(artifact, tuple) else (artifact,)
        self.command("dsflash-run", *model, *arguments, "--greedy", "--ignore-eos", *self.run_flags, *flags)
        return [safetensors.read(path) for path in out]
