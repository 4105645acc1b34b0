import Foundation
import StrataEngine
import Testing

@Suite("Verbs that exchange a store with its other copies")
struct ExchangeVerbTests {
  private static let rivers = """
    {"id": 1, "name": "Rhein", "km": 1233}
    {"id": 2, "name": "Aare", "km": 288}
    """

  private let folder: TemporaryFolder
  private var first: String { folder.path("First.strata") }
  private var second: String { folder.path("Second.strata") }

  init() throws { folder = try TemporaryFolder() }

  @discardableResult
  private func run(
    _ words: String..., input: String = "", environment: [String: String] = [:], status: Int32 = 0,
    _ place: SourceLocation = #_sourceLocation
  ) throws -> ProgramRun {
    let run = try ProgramRun(words, input: input, environment: environment)
    #expect(run.status == status, "\(words): \(run.output)\(run.complaint)", sourceLocation: place)
    return run
  }

  private func make() throws {
    try run("import", first, "River", folder.file("rivers.jsonl", Self.rivers), "--id", "id", "--index", "name=name")
  }

  private func put(_ path: String, _ text: String) throws {
    try run("put", path, "River", input: text)
  }

  private func records(_ path: String) throws -> String { try run("records", path, "River", "--json").output }

  private func expectEqual(_ place: SourceLocation = #_sourceLocation) throws {
    let (left, right) = (try records(first), try records(second))
    #expect(left == right, sourceLocation: place)
    for path in [first, second] {
      let verified = try ProgramRun(["verify", path])
      #expect(verified.status == 0, "\(verified.output)\(verified.complaint)", sourceLocation: place)
    }
  }

  @Test("a clone, edits of different fields on both sides, one exchange: both are equal, and a second moves nothing")
  func exchanging() throws {
    try make()
    #expect(try run("clone", first, second).lines == ["origin: 1 commit fetched"])
    try put(first, #"{"id": 1, "name": "Rhine", "km": 1233}"#)
    try put(second, #"{"id": 1, "name": "Rhein", "km": 1230}"#)
    let exchanged = try run("exchange", second, "--json")
    #expect(exchanged.objects.compactMap { $0["kind"] as? String } == ["merge"])
    try expectEqual()
    #expect(try records(first).contains(#""name":"Rhine""#) && records(first).contains(#""km":1230"#))
    let again = try run("exchange", second)
    #expect(again.lines == ["origin: 0 commits fetched", "origin: nothing to merge", "origin: 0 commits sent"])
    // Both edits are told of in both stores.
    for path in [first, second] { #expect(try run("history", path, "River", "1").lines.count >= 2) }
  }

  @Test("a merge tells each change as JSON: what is taken over, what goes, what both sides changed")
  func changes() throws {
    try make()
    try run("clone", first, second)
    try put(first, #"{"id": 1, "name": "Rhine", "km": 1233}"#)
    try put(first, #"{"id": 3, "name": "Reuss", "km": 164}"#)
    try run("delete", first, "River", "2")
    try put(second, #"{"id": 1, "name": "Rhein", "km": 1230}"#)
    try run("fetch", second)
    for isDryRun in [true, false] {
      let merged =
        try isDryRun ? run("merge", second, "--json", "--dry-run") : run("merge", second, "--json")
      let changes = merged.objects.filter { $0["change"] != nil }
      let told = changes.map { "\($0["datastore"] ?? "") \($0["id"] ?? "") \($0["change"] ?? "")" }
      #expect(told.sorted() == ["River 1 merge", "River 2 delete", "River 3 put"])
    }
    try run("exchange", second)
    try put(first, #"{"id": 4, "name": "Limmat", "km": 36}"#)
    try run("fetch", second)
    let forward = try run("merge", second, "--json").objects.compactMap { $0["id"] as? Int }
    #expect(forward == [4])
  }

  @Test("a conflict is told with the three values, nothing is written, and an option settles it")
  func conflict() throws {
    try make()
    try run("clone", first, second)
    try put(first, #"{"id": 2, "name": "Aar", "km": 288}"#)
    try put(second, #"{"id": 2, "name": "Aare river", "km": 288}"#)
    try run("fetch", second)
    let before = try records(second)
    let refused = try run("merge", second, "origin", "--json", status: 1)
    let conflict = try #require(refused.objects.last)
    #expect(conflict["datastore"] as? String == "River")
    #expect(conflict["id"] as? Int == 2)
    let field = try #require((conflict["fields"] as? [[String: Any]])?.first)
    #expect(field["field"] as? String == ".name")
    #expect(field["base"] as? String == "Aare")
    #expect(field["ours"] as? String == "Aare river")
    #expect(field["theirs"] as? String == "Aar")
    #expect(refused.complaint.contains("--ours, --theirs or --later settles them"))
    #expect(try records(second) == before)
    try run("merge", second, "origin", "--dry-run", "--ours")
    #expect(try records(second) == before)
    try run("exchange", second, "--ours")
    try expectEqual()
    #expect(try records(first).contains("Aare river"))
  }

  @Test("a push to a head that moved is refused, and nothing moves")
  func pushing() throws {
    try make()
    try run("clone", first, second)
    try put(first, #"{"id": 3, "name": "Inn", "km": 517}"#)
    try put(second, #"{"id": 4, "name": "Ticino", "km": 248}"#)
    let before = try records(first)
    let refused = try run("push", second, status: 1)
    #expect(refused.complaint.contains("fetch and merge first"))
    #expect(try records(first) == before)
    try run("exchange", second)
    try expectEqual()
  }

  @Test("a remote that cannot be reached keeps no other from being fetched and pushed, and each error is printed")
  func unreachable() throws {
    try make()
    try run("clone", first, second)
    for name in ["gone", "zone"] { try run("remote", second, "add", name, folder.path("\(name).strata")) }
    try put(first, #"{"id": 3, "name": "Inn", "km": 517}"#)
    let fetched = try run("fetch", second, status: 1)
    #expect(fetched.lines == ["origin: 1 commit fetched"])
    try run("merge", second, "origin")
    try put(second, #"{"id": 4, "name": "Ticino", "km": 248}"#)
    let pushed = try run("push", second, status: 1)
    #expect(pushed.lines == ["origin: 1 commit sent"])
    for complaint in [fetched.complaint, pushed.complaint] {
      #expect(complaint.contains("gone") && complaint.contains("zone"))
    }
    try expectEqual()
  }

  @Test("a history is exported, imported into a new store, and comes out as the same text")
  func history() throws {
    try make()
    try put(first, #"{"id": 1, "name": "Rhine", "km": 1233}"#)
    let text = try run("export", first, "--history").output
    let file = try folder.file("history.jsonl", text)
    try run("import", second, "--history", file)
    try expectEqual()
    let again = try run("export", second, "--history").output
    #expect(again.split(separator: "\n").dropFirst() == text.split(separator: "\n").dropFirst())
    let since = try run("export", first, "--history", "--since", "head~1")
    #expect(since.lines.count { $0.hasPrefix(#"{"commit""#) } == 1)
    // Cut, garbled, and none at all.
    let third = folder.path("Third.strata")
    let cut = try folder.file("cut.jsonl", String(text.dropLast(30)))
    #expect(try run("import", third, "--history", cut, status: 1).complaint.contains("line "))
    let garbled = try folder.file("garbled.jsonl", text.replacing("Rhine", with: "Rhone"))
    #expect(try run("import", third, "--history", garbled, status: 1).complaint.contains("garbled on the way"))
    try run("import", third, "--history", folder.path("none.jsonl"), status: 1)
  }

  @Test("what a killed clone has left is not a store and in no clone's way; a whole store is")
  func killedClone() throws {
    try make()
    do {
      // A process that is gone holds no lock.
      let killed = try StoreDraft(at: second)
      _ = try FileStore.create(at: killed.workPath, options: StoreOptions())
    }
    #expect(!FileStore.exists(at: second, disk: SystemDisk()))
    try run("clone", first, second)
    let names = try Set(FileManager.default.contentsOfDirectory(atPath: second))
    #expect(names.contains("remotes") && names.isDisjoint(with: ["data.new", "data.making"]))
    try expectEqual()
    let again = try run("clone", first, second, status: 1)
    #expect(again.complaint.contains("something lies at"))
  }

  @Test("over ssh a clone, an exchange and a push go through strata serve")
  func ssh() throws {
    try make()
    let environment = try folder.standIn()
    try run("clone", "ssh://user@host:22\(first)", second, environment: folder.standIn(#"shift 4; exec sh -c "$1""#))
    try run("remote", second, "remove", "origin")
    try run("remote", second, "add", "laptop", "host:\(first)")
    _ = try folder.standIn()
    try put(first, #"{"id": 1, "name": "Rhine", "km": 1233}"#)
    try put(second, #"{"id": 1, "name": "Rhein", "km": 1230}"#)
    try run("exchange", second, "laptop", environment: environment)
    try expectEqual()
    try put(second, #"{"id": 5, "name": "Reuss", "km": 164}"#)
    let sent = try run("push", second, "laptop", environment: environment)
    #expect(sent.lines == ["laptop: 1 commit sent"])
    try expectEqual()
  }

  @Test(
    "through a folder that something else carries, three stores become equal; a file that is half there is read later")
  func folderRemote() throws {
    try make()
    let (third, shared) = (folder.path("Third.strata"), folder.path("shared"))
    try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: true)
    try run("clone", first, second)
    try run("clone", first, third)
    for path in [first, second, third] { try run("remote", path, "add", "stick", "folder:\(shared)") }
    try put(first, #"{"id": 1, "name": "Rhine", "km": 1233}"#)
    try put(second, #"{"id": 1, "name": "Rhein", "km": 1230}"#)
    try put(third, #"{"id": 7, "name": "Limmat", "km": 36}"#)
    try run("exchange", first, "stick")
    // As a carrier leaves it that was cut off.
    let file = try #require(
      try FileManager.default.contentsOfDirectory(atPath: shared).first { $0.hasSuffix(".jsonl") })
    let whole = try Data(contentsOf: URL(filePath: shared + "/" + file))
    try whole.prefix(whole.count - 40).write(to: URL(filePath: shared + "/" + file))
    #expect(try run("exchange", second, "stick").complaint.contains(file))
    try whole.write(to: URL(filePath: shared + "/" + file))
    for path in [second, third, first, second] { try run("exchange", path, "stick") }
    try expectEqual()
    #expect(try records(third) == records(first))
    #expect(try records(first).contains("Limmat") && records(first).contains(#""name":"Rhine""#))
    let files = try FileManager.default.contentsOfDirectory(atPath: shared).count
    try run("exchange", third, "stick")
    #expect(try FileManager.default.contentsOfDirectory(atPath: shared).count == files)
    try run("remote", third, "add", "none", "folder:\(folder.path("nowhere"))")
    #expect(try run("exchange", third, "none", status: 1).complaint.contains("is not a folder"))
  }

  @Test("a file in a shared folder that is damaged in the middle is named, and the others are exchanged")
  func damagedFile() throws {
    try make()
    let (third, shared) = (folder.path("Third.strata"), folder.path("shared"))
    try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: true)
    try run("clone", first, second)
    try run("clone", first, third)
    for path in [first, second, third] { try run("remote", path, "add", "stick", "folder:\(shared)") }
    try put(first, #"{"id": 1, "name": "Rhine", "km": 1233}"#)
    try put(first, #"{"id": 8, "name": "Kander", "km": 46}"#)
    try run("exchange", first, "stick")
    let file = try #require(
      try FileManager.default.contentsOfDirectory(atPath: shared).first { $0.hasSuffix(".jsonl") })
    var bytes = try Data(contentsOf: URL(filePath: shared + "/" + file))
    let place = try #require(bytes.range(of: Data("Rhine".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: URL(filePath: shared + "/" + file))
    try put(second, #"{"id": 5, "name": "Reuss", "km": 164}"#)
    try put(third, #"{"id": 7, "name": "Limmat", "km": 36}"#)
    for path in [second, third, second, third] {
      let complaint = try run("exchange", path, "stick").complaint
      #expect(complaint.contains(file) && complaint.contains("the file is damaged"), "\(complaint)")
    }
    #expect(try records(second) == records(third))
    #expect(try records(second).contains("Limmat") && records(second).contains("Reuss"))
    try run("exchange", first, "stick")
    #expect(try records(first).contains("Limmat") && records(first).contains("Kander"))
  }

  @Test(
    "through a real ssh and a real sshd",
    .enabled(if: ["/usr/sbin/sshd", "/usr/bin/ssh-keygen"].allSatisfy(FileManager.default.isExecutableFile)))
  func realServer() throws {
    try make()
    let server = try Server(folder)
    // The server of one connection, at the other end of a pipe: nothing listens, and nothing runs longer than the client.
    let client = """
      exec ssh -F /dev/null -i \(folder.path("user")) -o BatchMode=yes -o StrictHostKeyChecking=no \\
      -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o "ProxyCommand=/usr/sbin/sshd -i -f \(server.configuration)" "$@"
      """
    let environment = try folder.standIn(client)
    let host = "\(NSUserName())@server"
    try run("clone", "\(host):\(first)", second, environment: environment)
    try put(first, #"{"id": 1, "name": "Rhine", "km": 1233}"#)
    try put(second, #"{"id": 1, "name": "Rhein", "km": 1230}"#)
    try run("exchange", second, environment: environment)
    try expectEqual()
    try run("remote", second, "add", "wrong", "\(host):/nowhere")
    #expect(try run("fetch", second, "wrong", environment: environment, status: 1).complaint.contains("/nowhere"))
  }

  @Test("what ssh says when it fails is shown, and a peer that talks nonsense is an error")
  func failingPeers() throws {
    try make()
    try run("remote", first, "add", "far", "host:/nowhere")
    let failed = try run(
      "fetch", first, environment: try folder.standIn("echo 'Permission denied (publickey).' >&2; exit 255"), status: 1)
    #expect(failed.complaint.contains("far: Permission denied (publickey)."))
    let nonsense = try run("fetch", first, environment: try folder.standIn("echo hello; cat >/dev/null"), status: 1)
    #expect(nonsense.complaint.contains("not a line of the stream: “hello”"))
    let silent = try run("fetch", first, environment: try folder.standIn("exit 3"), status: 1)
    #expect(silent.complaint.contains("it went away without a word (status 3)"))
    let missing = try run("fetch", first, environment: try folder.standIn(), status: 1)
    #expect(missing.complaint.contains("/nowhere"))
    let noise = try run("fetch", first, environment: try folder.standIn("head -c 300000 /dev/urandom"), status: 1)
    #expect(noise.complaint.contains("far: "))
  }

  @Test("served for reading only, a store is sent and takes nothing")
  func readOnly() throws {
    try make()
    try run("clone", first, second)
    try put(second, #"{"id": 5, "name": "Reuss", "km": 164}"#)
    try run("remote", second, "add", "laptop", "host:\(first)")
    let environment = try folder.standIn(#"shift 2; exec sh -c "$1 --read-only""#)
    let before = try records(first)
    let refused = try run("push", second, "laptop", environment: environment, status: 1)
    #expect(refused.complaint.contains("for reading only"))
    #expect(try records(first) == before)
    try run("fetch", second, "laptop", environment: environment)
  }

  @Test("names, locations and commits that are none are refused with a sentence and a status")
  func badInput() throws {
    try make()
    #expect(
      try run("fetch", first, status: 1).complaint.contains("there is no remote; strata remote PATH add NAME LOCATION"))
    #expect(try run("fetch", first, "laptop", status: 1).complaint.contains("no remote laptop"))
    try run("remote", first, "add", "laptop", second)
    #expect(
      try run("remote", first, "add", "laptop", second, status: 1).complaint.contains(
        "there is a remote laptop already"))
    try run("remote", first, "add", "a b", second, status: 2)
    try run("remote", first, "add", "x", "ssh://host", status: 2)
    try run("remote", first, "add", "x", "gopher://host/x", status: 2)
    try run("remote", first, "add", "x", "ssh://-oProxyCommand=touch/x", status: 2)
    try run("remote", first, "move", "laptop", status: 2)
    #expect(try run("fetch", first, "laptop", status: 1).complaint.contains("there is nothing at this path"))
    try run("remote", first, "remove", "laptop")
    try run("remote", first, "add", "laptop", folder.file("file", "no store"))
    try run("fetch", first, "laptop", status: 1)
    #expect(try run("merge", first, "#77", status: 1).complaint.contains("no commit"))
    try run("merge", first, status: 1)
    try run("merge", first, "head", "--ours", "--theirs", status: 2)
    try run("clone", first, first, status: 1)
    #expect(try run("copy", first, "ssh://host/Copy.strata", status: 1).complaint.contains("is on another one"))
    try run("clone", folder.path("nothing"), second, status: 1)
    #expect(!FileManager.default.fileExists(atPath: second))
    // A file of remotes that was changed by hand.
    let file = first + "/remotes"
    try Data(
      String(decoding: Data(contentsOf: URL(filePath: file)), as: UTF8.self).replacing("laptop", with: "desktop").utf8
    )
    .write(to: URL(filePath: file))
    #expect(try run("remote", first, status: 3).complaint.contains("its check is another one"))
  }
}

/// What an sshd of this user's own needs, with keys of its own; it finds the program of these tests first.
private final class Server {
  let configuration: String
  private let madePrivileges: Bool
  private static let privileges = "/run/sshd"

  init(_ folder: TemporaryFolder) throws {
    for key in ["host", "user"] {
      let maker = Process()
      maker.executableURL = URL(filePath: "/usr/bin/ssh-keygen")
      maker.arguments = ["-q", "-t", "ed25519", "-N", "", "-f", folder.path(key)]
      try maker.run()
      maker.waitUntilExit()
    }
    let program = ProgramRun.program.deletingLastPathComponent().path
    configuration = try folder.file(
      "sshd_config",
      """
      HostKey \(folder.path("host"))
      AuthorizedKeysFile \(folder.path("user.pub"))
      StrictModes no
      UsePAM no
      PermitRootLogin yes
      PasswordAuthentication no
      PidFile none
      SetEnv PATH=\(program):/usr/bin:/bin
      """)
    // Where the system's own has never run, this is missing.
    madePrivileges = getuid() == 0 && !FileManager.default.fileExists(atPath: Self.privileges)
    if madePrivileges {
      try FileManager.default.createDirectory(atPath: Self.privileges, withIntermediateDirectories: true)
    }
  }

  deinit {
    if madePrivileges { try? FileManager.default.removeItem(atPath: Self.privileges) }
  }
}
