//===- RunToolTest.cpp - dsflash-run from outside -------------------------===//

#include "FakeArtifact.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/wait.h>

using namespace dsflash;
using namespace dsflash::test;
using nlohmann::json;

namespace {

std::string readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != text.npos;
}

class RunToolTest : public FakeArtifactTest {
protected:
  /// Runs dsflash-run with the artifact and these arguments.
  int run(const std::string &arguments) {
    return runBare(artifact + " " + arguments);
  }
  int runBare(const std::string &arguments) {
    std::string command = std::string(DSFLASH_RUN) + " " + arguments + " >" +
                          root + "/out 2>" + root + "/err";
    int status = std::system(command.c_str());
    out = readFile(root + "/out");
    err = readFile(root + "/err");
    return WEXITSTATUS(status);
  }
  std::string firstError() const { return err.substr(0, err.find('\n')); }
  std::string ids(const std::string &list) {
    writeFile(root + "/ids.json", list);
    return "--tokens " + root + "/ids.json ";
  }

  std::string out, err;
};

TEST_F(RunToolTest, StreamsText) {
  writeTokenizer(artifact);
  writeArtifact();
  std::string text;
  for (int32_t token : fakeGreedy({0, byteId('a')}, 10))
    text += char(token - 3);
  for (const char *draft : {"off", "auto", "1", "5"}) {
    EXPECT_EQ(
        run(std::string("--raw --prompt a --greedy -n 10 --draft=") + draft), 0)
        << err;
    EXPECT_EQ(out, text + "\n");
    EXPECT_EQ(err, "");
  }
  writeFile(root + "/prompt.txt", "a");
  EXPECT_EQ(run("--raw --prompt-file " + root +
                "/prompt.txt --greedy -n 10 "
                "--threads 1 --chunk 1 --prefill full"),
            0);
  EXPECT_EQ(out, text + "\n");
}

TEST_F(RunToolTest, SeveralPromptsInTheirOrder) {
  writeTokenizer(artifact);
  writeArtifact();
  EXPECT_EQ(run("--raw --greedy -n 3 --prompt a " + ids("[0, 100]") +
                "--prompt x --json"),
            0)
      << err;
  json result = json::parse(out);
  ASSERT_EQ(result["sequences"].size(), 3u);
  EXPECT_EQ(result["sequences"][0]["prompt_tokens"],
            (std::vector<int32_t>{0, byteId('a')}));
  EXPECT_EQ(result["sequences"][1]["tokens"], fakeGreedy({0, 100}, 3));
  EXPECT_EQ(result["sequences"][2]["prompt_tokens"][1], byteId('x'));
  EXPECT_EQ(result["sequences"][0]["finish"], "length");
  EXPECT_EQ(result["statistics"]["generated_tokens"], 9);
}

TEST_F(RunToolTest, ChatPrompt) {
  writeTokenizer(artifact);
  writeArtifact();
  EXPECT_EQ(run("--prompt a --no-think -n 0 --json"), 0) << err;
  // BOS, <User>, text, <Assistant>, </think>.
  EXPECT_EQ(json::parse(out)["sequences"][0]["prompt_tokens"],
            (std::vector<int32_t>{0, 260, byteId('a'), 261, 263}));
}

TEST_F(RunToolTest, TokensWithoutTokenizer) {
  writeArtifact();
  EXPECT_EQ(run(ids("[5]") + "--greedy -n 2"), 0) << err;
  std::vector<int32_t> next = fakeGreedy({5}, 2);
  EXPECT_EQ(out,
            std::to_string(next[0]) + " " + std::to_string(next[1]) + " \n");
  EXPECT_EQ(run(ids("[5]") + "-n 0"), 0);
  EXPECT_EQ(out, "");
  EXPECT_EQ(run("--prompt x"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: " + artifact +
                              ": no tokenizer.json; give token ids with "
                              "--tokens");
}

TEST_F(RunToolTest, ChatKeepsItsHistory) {
  writeTokenizer(artifact);
  writeArtifact();
  Result<Tokenizer> tokenizer = Tokenizer::load(artifact + "/tokenizer.json");
  ASSERT_TRUE(tokenizer.ok());
  auto reply = [&](const std::vector<int32_t> &prompt) {
    std::string text;
    for (int32_t token : fakeGreedy(prompt, 3))
      text += tokenizer->bytes(token);
    return text;
  };
  auto append = [](std::vector<int32_t> &ids, const std::string &text) {
    for (char c : text)
      ids.push_back(byteId(c));
  };
  auto converse = [&](const std::string &lines, const std::string &flags) {
    writeFile(root + "/lines", lines);
    return run("--chat --greedy -n 3 " + flags + " <" + root + "/lines");
  };
  // BOS, <User>, text, <Assistant>, </think>, then the reply and EOS.
  std::vector<int32_t> ids = {0, 260, byteId('a'), 261, 263};
  std::string first = reply(ids);
  append(ids, first);
  ids.insert(ids.end(), {1, 260, byteId('b'), 261, 263});
  std::string second = reply(ids);
  EXPECT_EQ(converse("a\n\nb\n/clear\na\n/quit\nb\n", "--no-think"), 0) << err;
  EXPECT_EQ(out, first + "\n" + second + "\n" + first + "\n");
  EXPECT_EQ(err, "");

  ids = {0, 259};
  append(ids, "hi");
  ids.insert(ids.end(), {260, byteId('a'), 261, 263});
  EXPECT_EQ(converse("/system hi\na", "--no-think"), 0) << err;
  EXPECT_EQ(out, reply(ids) + "\n");
  EXPECT_EQ(converse("a\n", "--no-think --system hi --stats"), 0);
  EXPECT_EQ(out, reply(ids) + "\n");
  EXPECT_TRUE(contains(err, "tokens/s"));

  ids = {0, 259};
  append(ids, "Reasoning Effort: 7 (range 1-100, the higher the value, the "
              "more thorough the reasoning)\n\n");
  ids.insert(ids.end(), {260, byteId('a'), 261, 262});
  EXPECT_EQ(converse("/effort 7\na\n", ""), 0) << err;
  EXPECT_EQ(out, reply(ids) + "\n");
}

// A turn behind a saved reply that was cut off: the reply ends first (SPEC
// section 5, EOS behind an assistant message).
TEST_F(RunToolTest, TurnsBehindASession) {
  writeTokenizer(artifact);
  writeArtifact();
  std::string file = root + "/a.session";
  auto promptBehind = [&](const std::string &tokens, const char *prompt) {
    EXPECT_EQ(run(ids(tokens) + "-n 0 --save-session " + file), 0) << err;
    EXPECT_EQ(run("--load-session " + file + " -n 1 --json " + prompt), 0);
    json result = json::parse(out);
    return result["sequences"][0]["prompt_tokens"].get<std::vector<int32_t>>();
  };
  std::vector<int32_t> turn = {260, byteId('a'), 261, 263};
  EXPECT_EQ(promptBehind("[0, 50, 1]", "--no-think --prompt a"), turn);
  EXPECT_EQ(promptBehind("[0, 50]", "--raw --prompt a"),
            std::vector<int32_t>{byteId('a')});
  turn.insert(turn.begin(), 1);
  EXPECT_EQ(promptBehind("[0, 50]", "--no-think --prompt a"), turn);
}

TEST_F(RunToolTest, ChatErrors) {
  writeArtifact();
  writeFile(root + "/nothing", "");
  EXPECT_EQ(run("--chat <" + root + "/nothing"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: " + artifact +
                              ": no tokenizer.json, which --chat needs");
  writeTokenizer(artifact);
  EXPECT_EQ(run("--chat <" + root + "/nothing"), 0) << err;
  EXPECT_EQ(run("--chat --prompt x <" + root + "/nothing"), 2);
  auto converse = [&](const std::string &line) {
    writeFile(root + "/lines", line);
    return run("--chat <" + root + "/lines");
  };
  EXPECT_EQ(converse("/nonsense x\n"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: /nonsense: no such command; "
                          "/help lists them");
  EXPECT_EQ(converse("/effort 101\n"), 1);
  EXPECT_EQ(converse("\xff\n"), 1);
  EXPECT_EQ(converse(std::string(2000, 'x') + "\n"), 1);
  EXPECT_TRUE(contains(firstError(), "the model has at most 1024 positions"));
  EXPECT_EQ(converse("/help\n"), 0);
  EXPECT_TRUE(contains(err, "/effort E"));
}

TEST_F(RunToolTest, SavesAndLoads) {
  writeArtifact();
  std::string file = root + "/a.session";
  ASSERT_EQ(run(ids("[0, 50, 51]") + "--greedy -n 4 --save-session " + file), 0)
      << err;
  ASSERT_EQ(run("--load-session " + file + " --greedy -n 6 --json"), 0) << err;
  json result = json::parse(out);
  std::vector<int32_t> whole = fakeGreedy({0, 50, 51}, 10);
  EXPECT_EQ(result["sequences"][0]["tokens"],
            (std::vector<int32_t>(whole.begin() + 4, whole.end())));
  EXPECT_EQ(result["statistics"]["reused_tokens"], 6);
  EXPECT_EQ(result["statistics"]["prompt_tokens"], 7);

  EXPECT_EQ(run(ids("[0]") + "-n 0 --save-session " + file), 0);
  EXPECT_EQ(run("--load-session " + file), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: prompt 0: no tokens");
  EXPECT_EQ(run("--load-session " + weights + "/model.safetensors"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: " + weights +
                              "/model.safetensors: not a session file");
  EXPECT_EQ(run(ids("[0]") + ids("[0]") + "--save-session " + file), 2);
  EXPECT_EQ(firstError(), "dsflash-run: error: command line: --save-session: "
                          "takes a single sequence");
  EXPECT_EQ(run(ids("[0]") + "-n 0 --save-session /no/such/file"), 1);
  EXPECT_TRUE(contains(firstError(), "/no/such/file: cannot write"));
}

TEST_F(RunToolTest, ProfileIsATraceEventFile) {
  writeArtifact();
  std::string file = root + "/profile.json";
  EXPECT_EQ(run(ids("[0, 5, 9]") +
                "-n 12 --greedy --draft 5 --chunk 2 --profile " + file),
            0)
      << err;
  json events = json::parse(readFile(file))["traceEvents"];
  std::map<std::string, int> counts;
  for (const json &event : events) {
    ++counts[event["name"].get<std::string>()];
    EXPECT_TRUE(event["tid"].is_number_unsigned());
    if (event["ph"] == "X")
      EXPECT_GE(event["dur"].get<double>(), 0);
  }
  EXPECT_EQ(counts["prompt chunk"], 2);
  EXPECT_GT(counts["step"], 0);
  for (const char *name : {"propose", "verify", "sample", "draft"})
    EXPECT_EQ(counts[name], counts["step"]) << name;
  EXPECT_EQ(counts["forward"], 2 + counts["step"]);
  EXPECT_EQ(counts["draft_context"], 2 + counts["step"]);
  EXPECT_EQ(counts["markov"], 5 * counts["step"]);
  EXPECT_GT(counts["piece"], 0);
  EXPECT_EQ(run(ids("[0]") + "-n 1 --profile " + root + "/none/f.json"), 1);
}

TEST_F(RunToolTest, HostileFilesAreErrors) {
  writeArtifact();
  std::string deep(100000, '[');
  EXPECT_EQ(run(ids(deep)), 1);
  EXPECT_TRUE(contains(firstError(), "nested deeper than 64"));
  EXPECT_EQ(run(ids("[" + std::string(10000, '-') + "]")), 1);
  std::string wrong = "[-1";
  for (int i = 0; i < 100000; ++i)
    wrong += ",-1";
  EXPECT_EQ(run(ids(wrong + "]")), 1);
  EXPECT_TRUE(contains(err, "99981 more wrong token ids"));
  EXPECT_LT(err.size(), 10000u);

  writeFile(artifact + "/manifest.json", deep);
  EXPECT_EQ(run(ids("[0]")), 1);
  EXPECT_TRUE(contains(firstError(), "nested deeper than 64"));
  writeArtifact();
  writeFile(artifact + "/tokenizer.json", deep);
  EXPECT_EQ(run(ids("[0]")), 1);
  EXPECT_TRUE(contains(firstError(), "nested deeper than 64"));
  std::filesystem::remove(artifact + "/tokenizer.json");

  // 10 GB that the file does not hold.
  std::string header = R"({"bias": {"dtype": "F32", "shape": [2684354560], )"
                       R"("data_offsets": [0, 10737418240]}})";
  writeFile(weights + "/model.safetensors",
            std::string(1, char(header.size())) + std::string(7, '\0') +
                header);
  EXPECT_EQ(run(ids("[0]")), 1);
  EXPECT_TRUE(contains(firstError(), "reach beyond the 0 bytes of data"));
}

TEST_F(RunToolTest, OpensNoConnection) {
  for (const char *binary : {DSFLASH_RUN, DSFLASH_LIBRARY}) {
    ASSERT_EQ(std::system((std::string("nm -D --undefined-only ") + binary +
                           " >" + root + "/symbols")
                              .c_str()),
              0);
    std::istringstream symbols(readFile(root + "/symbols"));
    int count = 0;
    for (std::string kind, name; symbols >> kind >> name; ++count) {
      name.erase(std::min(name.find('@'), name.size()));
      for (const char *call : {"socket", "socketpair", "connect", "bind",
                               "getaddrinfo", "gethostbyname", "res_query"})
        EXPECT_NE(name, call) << binary;
    }
    EXPECT_GT(count, 10);
  }
}

TEST_F(RunToolTest, StopText) {
  writeTokenizer(artifact);
  writeArtifact();
  std::string text;
  for (int32_t token : fakeGreedy({0, byteId('a')}, 10))
    text += char(token - 3);
  EXPECT_EQ(run("--raw --prompt a --greedy -n 10 --stop " + text.substr(4, 2)),
            0);
  EXPECT_EQ(out, text.substr(0, 4) + "\n");
}

TEST_F(RunToolTest, BadTokensNameTheirPosition) {
  writeArtifact();
  EXPECT_EQ(run(ids("[0, -1, 3]")), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: " + root +
                              "/ids.json: position 1: token id -1 is outside "
                              "[0, 288)");
  EXPECT_EQ(run(ids("[288]")), 1);
  EXPECT_TRUE(contains(firstError(), "position 0: token id 288 is outside"));
  EXPECT_EQ(run(ids("[0, 2147483647, 18446744073709551615]")), 1);
  EXPECT_TRUE(contains(err, "position 1: token id 2147483647 is outside"));
  EXPECT_TRUE(
      contains(err, "position 2: token id 18446744073709551615 is outside"));
  EXPECT_EQ(run(ids("[0, 1.5]")), 1);
  EXPECT_TRUE(contains(firstError(), "position 1: a token id must be an"));
  EXPECT_EQ(run(ids("{}")), 1);
  EXPECT_TRUE(contains(firstError(), "/ids.json:1:1: expected a list"));
  EXPECT_EQ(run(ids("[]")), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: prompt 0: no tokens");
}

TEST_F(RunToolTest, MoreDraftsThanTheBlockHolds) {
  writeArtifact();
  EXPECT_EQ(run(ids("[0]") + "--draft 7"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: draft: 7 tokens a step, the "
                          "model drafts at most 5");
}

TEST_F(RunToolTest, InputErrorsExitWithOne) {
  EXPECT_EQ(runBare(root + "/none.dsflash --tokens x.json"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: " + root +
                              "/none.dsflash: no compiled model: not a folder");
  writeArtifact("fake_other_abi");
  EXPECT_EQ(run(ids("[0]")), 1);
  EXPECT_TRUE(contains(firstError(), "ABI version 5, this runtime needs "
                                     "version " +
                                         std::to_string(DSF_ABI_VERSION)));
  writeArtifact("fake_features");
  EXPECT_EQ(run(ids("[0]")), 1);
  EXPECT_TRUE(contains(firstError(), "no-such-unit, nor-this"));
  writeArtifact();
  EXPECT_EQ(run(ids("[0]") + "--device cuda"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: --device: the model was "
                          "compiled for the cpu, not for 'cuda'");
  EXPECT_EQ(run(ids("[0]") + "--device simt"), 1);
  EXPECT_EQ(firstError(), "dsflash-run: error: --device: the model was "
                          "compiled for the cpu, not for 'simt'");
  EXPECT_EQ(run(ids("[0]") + "--prefill=bounded"), 1);
  EXPECT_EQ(firstError(),
            "dsflash-run: error: prefill: the model has no decoder to bound; "
            "use full or exact");
  EXPECT_EQ(run(ids("[0]") + "--weights " + root + "/none"), 1);
  EXPECT_TRUE(contains(firstError(), root + "/none"));
  EXPECT_EQ(run("--prompt-file " + root + "/none.txt"), 1);
  EXPECT_TRUE(contains(firstError(), "none.txt"));
  EXPECT_EQ(run(ids("[0]") + "--logits " + root + "/none/out.safetensors"), 1);
  EXPECT_TRUE(contains(firstError(), "none/out.safetensors"));
}

TEST_F(RunToolTest, WrongUsageExitsWithTwo) {
  writeArtifact();
  for (const char *arguments :
       {"", "--no-such-flag", "--prompt x -n -1", "--prompt x --top-p 2",
        "--prompt x --draft many", "--prompt x --effort 101",
        "--prompt x --greedy --temperature 1", "--prompt x --threads 0",
        "--prompt x --chunk 0", "--prompt x --device abacus",
        "--prompt x --raw --system y"}) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_TRUE(contains(err, "dsflash-run: error: command line: "))
        << arguments << "\n"
        << err;
    EXPECT_EQ(out, "");
  }
  EXPECT_EQ(runBare(""), 2);
}

TEST_F(RunToolTest, HelpAndVersion) {
  EXPECT_EQ(runBare("--help"), 0);
  EXPECT_TRUE(contains(out, "Examples:"));
  EXPECT_EQ(runBare("--version"), 0);
  EXPECT_TRUE(contains(out, "ABI version " + std::to_string(DSF_ABI_VERSION)));
}

TEST_F(RunToolTest, ResultFiles) {
  writeArtifact();
  std::string logits = root + "/l.safetensors", trace = root + "/t.safetensors",
              stats = root + "/s.json";
  EXPECT_EQ(run(ids("[0, 60, 70]") + "--greedy -n 4 --stats --logits=" +
                logits + " --trace=" + trace + " --stats-json=" + stats),
            0)
      << err;
  Result<SafetensorsFile> file = SafetensorsFile::open(logits);
  ASSERT_TRUE(file.ok()) << file.status().str();
  EXPECT_EQ(file->find("logits")->shape, (std::vector<int64_t>{3, kVocab}));
  EXPECT_EQ(file->find("generated")->shape, (std::vector<int64_t>{4}));
  file = SafetensorsFile::open(trace);
  ASSERT_TRUE(file.ok()) << file.status().str();
  EXPECT_NE(file->find("layers.0.attn.stream"), nullptr);
  EXPECT_NE(file->find("draft.tokens"), nullptr);
  EXPECT_EQ(json::parse(readFile(stats))["prompt_tokens"], 3);
  EXPECT_TRUE(contains(err, "tokens/s"));
  EXPECT_TRUE(contains(err, "KV 20 bytes a token"));
}

TEST_F(RunToolTest, Describe) {
  writeArtifact();
  std::filesystem::remove_all(weights);
  EXPECT_EQ(run("--describe"), 0) << err;
  EXPECT_TRUE(contains(out, "forward("));
  EXPECT_EQ(run("--describe --json"), 0);
  json facts = json::parse(out);
  EXPECT_EQ(facts["entries"].size(), 5u);
  EXPECT_EQ(facts["memory"]["session_per_token"], 20);
  EXPECT_EQ(facts["memory"]["session_fixed"], 8 * 16);
  // bias, two 40x64 with 4 scales, four 8x32 with 16 scales, norm.
  EXPECT_EQ(facts["memory"]["weights"],
            288 * 4 + 2 * (40 * 64 + 4) + 4 * (8 * 32 + 16) + 4 * 16 * 2);
}

TEST_F(RunToolTest, LinksNoLLVM) {
  std::string list = root + "/libraries";
  std::string tool = DSFLASH_RUN;
  ASSERT_EQ(std::system(("ldd " + tool + " >" + list + " && nm -C " + tool +
                         " >>" + list)
                            .c_str()),
            0);
  std::string text = readFile(list);
  EXPECT_TRUE(contains(text, "libc.so"));
  EXPECT_TRUE(contains(text, "dsflash::Model::open"));
  for (const char *part : {"libLLVM", "libMLIR", " llvm::", " mlir::"})
    EXPECT_FALSE(contains(text, part)) << part;
}

} // namespace
