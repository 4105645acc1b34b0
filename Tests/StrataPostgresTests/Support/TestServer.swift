import Foundation
import Testing

/// A server of the tests' own, in a temporary folder, gone with the process. Never one that is there.
final class TestServer: Sendable {
  let folder: String
  let port: Int
  private let binaries: String
  private let user: String?
  /// Closed when this process ends, however it ends; a shell that waits for it takes the server away.
  private let leash: FileHandle

  /// The server that most tests share; nil where none can be had.
  static let shared: TestServer? = TestServer()

  /// Why tests of servers are left out.
  static let missing: Comment =
    "no PostgreSQL server can be started here: install postgresql (Debian) to run the tests of stores on a server"

  static var isThere: Bool { shared != nil }

  /// - Parameter primary: another server, of which this one is a standby that each of its commits waits for.
  init?(standbyOf primary: TestServer? = nil) {
    guard let binaries = Self.findBinaries() else { return nil }
    self.binaries = binaries
    // A server refuses to run as root.
    user = getuid() == 0 ? (getpwnam("postgres") != nil ? "postgres" : "nobody") : nil
    folder = NSTemporaryDirectory() + "strata-server-\(UInt32.random(in: 0 ... .max))"
    port = Int.random(in: 20_000...55_000)
    let pipe = Pipe()
    leash = pipe.fileHandleForWriting
    _ = fcntl(leash.fileDescriptor, F_SETFD, FD_CLOEXEC)
    guard (try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)) != nil else {
      return nil
    }
    if let user, run("/bin/chown", [user, folder], asUser: false) != 0 { return nil }
    let data = folder + "/data"
    guard primary.map({ copy($0, to: data) }) ?? make(data) else { return nil }
    // It is nobody's child once the shell that starts it has ended: the thread that waits for exit tests asks for any child that has
    // ended, and may hear of one that nobody else waits for again and again, and of its own never.
    let watch =
      "read line <&3; \(asUserPrefix)\(binaries)/pg_ctl -D '\(data)' -m immediate stop >/dev/null 2>&1; rm -rf '\(folder)'"
    let isWatched = ChildProgram.run(
      "/bin/sh", ["-c", "exec 3<&0; (\(watch)) &"], input: pipe.fileHandleForReading.fileDescriptor)
    guard isWatched == 0 else { return nil }
    try? pipe.fileHandleForReading.close()
    guard start() else { return nil }
    if let primary {
      guard primary.waitsForStandby() else { return nil }
    } else {
      guard psql("create role locked login password 'sesame'; create role reader login") == 0 else { return nil }
    }
  }

  private func make(_ data: String) -> Bool {
    let rules = [
      "local all locked scram-sha-256", "host all locked all scram-sha-256", "local all all trust",
      "host all all all trust", "local replication all trust",
    ]
    return run("\(binaries)/initdb", ["-D", data, "-U", "strata", "-A", "trust", "-N", "--locale=C", "-E", "UTF8"]) == 0
      && run("/bin/sh", ["-c", "printf '%s\\n' \"$@\" > '\(data)/pg_hba.conf'", "sh"] + rules) == 0
  }

  private func copy(_ primary: TestServer, to data: String) -> Bool {
    run(
      "\(binaries)/pg_basebackup",
      ["-D", data, "-h", primary.folder, "-p", "\(primary.port)", "-U", "strata", "-R", "-X", "stream", "-c", "fast"]
    ) == 0
  }

  /// Has each commit wait for a standby from now on.
  private func waitsForStandby() -> Bool {
    guard psql("alter system set synchronous_standby_names = '*'") == 0, psql("select pg_reload_conf()") == 0 else {
      return false
    }
    for _ in 0..<600 {
      if query("select 1 from pg_stat_replication where sync_state = 'sync'") == ["1"] { return true }
      usleep(50_000)
    }
    return false
  }

  /// Makes a primary of a standby.
  func promote() -> Bool { run("\(binaries)/pg_ctl", ["-D", folder + "/data", "-w", "promote"]) == 0 }

  private static func findBinaries() -> String? {
    let debian = "/usr/lib/postgresql"
    let versions = ((try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? [])
    var folders = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(debian)/\($0)/bin" }
    folders += (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    folders += ["/usr/local/opt/postgresql/bin", "/opt/homebrew/opt/postgresql/bin"]
    return folders.first { folder in
      ["initdb", "pg_ctl", "psql"].allSatisfy { FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)") }
    }
  }

  private var asUserPrefix: String { user.map { "setpriv --reuid=\($0) --regid=$(id -g \($0)) --clear-groups " } ?? "" }

  /// The socket's folder is the server's own, so no other server is ever met.
  func start() -> Bool {
    run(
      "\(binaries)/pg_ctl",
      [
        "-D", folder + "/data", "-w", "-l", folder + "/log", "-o",
        "-k '\(folder)' -p \(port) -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=1000", "start",
      ]) == 0
  }

  /// Stops as a power cut does, but for the disk's cache, and starts again.
  func stopImmediately() -> Bool {
    run("\(binaries)/pg_ctl", ["-D", folder + "/data", "-w", "-m", "immediate", "stop"]) == 0
  }

  @discardableResult
  func psql(_ sql: String) -> Int32 {
    run(
      "\(binaries)/psql",
      ["-h", folder, "-p", "\(port)", "-U", "strata", "-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql])
  }

  /// What psql prints of a query: rows of fields with “|” between.
  func query(_ sql: String) -> [String] {
    let file = NSTemporaryDirectory() + "strata-query-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let words = ["-h", folder, "-p", "\(port)", "-U", "strata", "-d", "postgres", "-A", "-t", "-q", "-c", sql]
    guard ChildProgram.run("\(binaries)/psql", words, output: file) == 0 else { return [] }
    return ((try? String(contentsOfFile: file, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
  }

  private func run(_ program: String, _ arguments: [String], asUser: Bool = true) -> Int32 {
    guard let user, asUser else { return ChildProgram.run(program, arguments) }
    let command = "cd /; exec setpriv --reuid=\(user) --regid=$(id -g \(user)) --clear-groups \"$@\""
    return ChildProgram.run("/bin/sh", ["-c", command, "sh", program] + arguments)
  }

  // MARK: Stores

  /// The URL of a schema that nobody else has.
  func location(
    _ schema: String = TestServer.newSchema(), user: String = "strata", folder: String? = nil, more: String = ""
  ) -> String {
    "postgres://\(user)@/postgres?host=\(folder ?? self.folder)&port=\(port)&schema=\(schema)\(more)"
  }

  static func newSchema() -> String { "t\(UInt64.random(in: 0 ... .max))" }
}
