import Foundation
import Testing

@testable import strata

@Suite("What is given with ill will")
struct HostileInputTests {
  @Test("control characters steer no terminal: they are shown as pictures")
  func controls() throws {
    #expect("a\u{1B}[31mb\u{7F}\u{9B}2J\r\n\té\u{0}".showingControls == "a␛[31mb␡⟨U+009B⟩2J␍\n\té␀")
    #expect("admin\u{202E}gpj".showingControls == "admin⟨U+202E⟩gpj")
    #expect("plain ⌘ text\n".showingControls == "plain ⌘ text\n")
    let run = try ProgramRun(["info", "/nowhere/\u{1B}[31m.strata"])
    #expect(run.status == 1)
    #expect(run.complaint.contains("/nowhere/␛[31m.strata"))
  }

  @Test(
    "a pipe in the place of a store's file is not waited for", arguments: ["info", "verify", "watch"])
  func pipeAsData(verb: String) throws {
    let folder = try TemporaryFolder()
    let store = folder.path("Piped.strata")
    try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
    try #require(mkfifo(store + "/data", 0o600) == 0)
    let run = try ProgramRun([verb, store])
    #expect([1, 3].contains(run.status))
    #expect(!run.complaint.isEmpty)
  }

  @Test(
    "verify and salvage name the path as it was given, and say whether something lies there",
    arguments: ["verify", "salvage"])
  func notStores(verb: String) throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("rows.csv", "id,name\n1,a\n")
    let target = verb == "salvage" ? [folder.path("Saved.strata")] : []
    for (path, reason) in [
      (file, "this is not a Strata store"), (folder.path("none"), "there is nothing at this path"),
      (folder.path(""), "this is not a Strata store"),
    ] {
      let run = try ProgramRun([verb, path] + target)
      #expect(run.status == 1 && run.complaint.contains("\(path): \(reason)"), "\(run.complaint)")
    }
  }

  @Test("an export to a terminal does not control it either")
  func exportToTerminal() throws {
    let folder = try TemporaryFolder()
    let store = folder.path("Shown.strata")
    let file = try folder.file("one.jsonl", "{\"id\": 1, \"name\": \"a\u{9B}2Jb\u{202E}\"}")
    #expect(try ProgramRun(["import", store, "Thing", file, "--id", "id"]).status == 0)
    #expect(try ProgramRun(["export", store, "Thing"]).output.unicodeScalars.contains("\u{9B}"))
    let shown = try ProgramRun(script: "script -qec \"$STRATA export '\(store)' Thing\" /dev/null < /dev/null").output
    #expect(shown.contains("a⟨U+009B⟩2Jb⟨U+202E⟩"), "\(shown)")
    #expect(!shown.unicodeScalars.contains("\u{9B}"))
  }

  @Test("a standard stream that is closed is not a store: nothing is read from one or written into one by mistake")
  func closedStreams() throws {
    let folder = try TemporaryFolder()
    let store = folder.path("Open.strata")
    let file = try folder.file("one.jsonl", #"{"id": 1, "name": "A"}"#)
    #expect(try ProgramRun(["import", store, "Thing", file, "--id", "id"]).status == 0)
    let noInput = try ProgramRun(script: "exec $STRATA put '\(store)' Thing <&-")
    #expect(noInput.status == 1)
    #expect(noInput.complaint.contains("standard input: Bad file descriptor"), "\(noInput.complaint)")
    for closed in [">&-", "2>&-", ">&- 2>&-"] {
      _ = try ProgramRun(script: "exec $STRATA put '\(store)' Thing '\(file)' \(closed)")
      #expect(try ProgramRun(["verify", store]).status == 0, "\(closed)")
    }
  }

  @Test("what cannot be printed is a failure, whatever prints it")
  func fullOutput() throws {
    for words in ["--version", "--help", "--print-config", "help import"] {
      let run = try ProgramRun(script: "exec $STRATA \(words) > /dev/full")
      #expect(run.status == 1 && run.complaint.contains("No space left on device"), "\(words): \(run.complaint)")
    }
  }

  @Test("without HOME the home folder is the one that the system has for the user")
  func noHome() throws {
    let home = try #require(getpwuid(getuid())?.pointee.pw_dir.map { String(cString: $0) })
    for unset in ["-u HOME", "HOME="] {
      let run = try ProgramRun(script: "exec env -u XDG_CONFIG_HOME \(unset) \"$STRATA\" --print-config")
      #expect(run.output.hasPrefix("# \(home)/.config/strata/config"), "\(run.output)")
    }
  }

  @Test("an argument that is not UTF-8 is refused, because its replacement would name another file")
  func argumentBytes() throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("one.jsonl", #"{"id": 1}"#)
    let run = try ProgramRun(
      script: #"cd '\#(folder.url.path)' && exec $STRATA import $'x\xFF.strata' Thing '\#(file)' --id id"#)
    #expect(run.status == 2)
    #expect(run.complaint.contains("x\u{FFFD}.strata: this argument is not UTF-8"), "\(run.complaint)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["one.jsonl"])
  }

  @Test("a store can be read and written where a process may not have many addresses")
  func fewAddresses() throws {
    let folder = try TemporaryFolder()
    let store = folder.path("Small.strata")
    let file = try folder.file("one.jsonl", #"{"id": 1, "name": "A"}"#)
    #expect(try ProgramRun(["import", store, "Thing", file, "--id", "id"]).status == 0)
    for arguments in ["get '\(store)' Thing 1", "delete '\(store)' Thing 1", "compact '\(store)'", "verify '\(store)'"]
    {
      let process = Process()
      let complaint = Pipe()
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments = ["-c", "ulimit -v 8000000 && exec '\(ProgramRun.program.path)' \(arguments)"]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = complaint
      try process.run()
      let words = String(decoding: try complaint.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0, "\(arguments): \(words)")
    }
  }
}
