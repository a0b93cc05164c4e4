// Guards against a peer that was edited and passes for the same.
#include "harness/peer/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(PeerFiles, WordsAreAsAShellDividesThem) {
  EXPECT_THAT(CommandWords("python3  'a b'/c.py \"it's\" d\\ e ''"),
              ElementsAre("python3", "a b/c.py", "it's", "d e", ""));
  EXPECT_THAT(CommandWords("cd x&&./y<z;w"),
              ElementsAre("cd", "x", "./y", "z", "w"));
  EXPECT_THAT(CommandWords(" "), IsEmpty());
  // Files that the command writes are not part of it.
  EXPECT_THAT(CommandWords("./y 2>>log <z >'a b'"),
              ElementsAre("./y", "2", "z"));
}

TEST(PeerFiles, AnEditedScriptIsAnotherPeer) {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/a peer.py";
  const std::string command = "python3 '" + script + "' --fast";
  Write(script, "import common");
  const std::string identity = PeerIdentity(command);
  EXPECT_EQ(PeerIdentity(command), identity);
  EXPECT_NE(PeerIdentity(command + "er"), identity);
  Write(script, "import numbers");
  EXPECT_NE(PeerIdentity(command), identity);
  Write(script, "import common");
  EXPECT_EQ(PeerIdentity(command), identity);
}

TEST(PeerFiles, AScriptInTheHomeFolderIsFound) {
  const TemporaryFolder folder;
  const char* const before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  setenv("HOME", folder.path().c_str(), 1);
  Write(folder.path() + "/peer.py", "import common");
  const std::string identity = PeerIdentity("python3 ~/peer.py");
  Write(folder.path() + "/peer.py", "import numbers");
  EXPECT_NE(PeerIdentity("python3 ~/peer.py"), identity);
  setenv("HOME", home.c_str(), 1);
}

TEST(PeerFiles, WhatAScriptMayImportIsOfIt) {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/peer.py";
  Write(script, "import common");
  Write(folder.path() + "/common.py", "1");
  const std::string identity = PeerIdentity("python3 " + script);
  Write(folder.path() + "/notes.txt", "something else");
  EXPECT_EQ(PeerIdentity("python3 " + script), identity);
  Write(folder.path() + "/common.py", "2");
  EXPECT_NE(PeerIdentity("python3 " + script), identity);
}

TEST(PeerFiles, OfNoCommandThereIsNone) { EXPECT_EQ(PeerIdentity(""), ""); }

}  // namespace
}  // namespace attnbench
