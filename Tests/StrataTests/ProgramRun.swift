import Foundation

/// One run of the built program with its output, as a shell would see it.
struct ProgramRun {
  var status: Int32
  var output: String
  var complaint: String

  /// The lines of standard output.
  var lines: [String] { output.split(separator: "\n").map(String.init) }

  /// The lines as JSON objects.
  var objects: [[String: Any]] {
    lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
  }

  /// Has a shell run a script that finds the program as `$STRATA`.
  init(script: String, environment: [String: String] = [:]) throws {
    try self.init(
      ["-c", script], environment: environment.merging(["STRATA": Self.program.path]) { $1 },
      program: URL(filePath: "/bin/bash"))
  }

  /// Runs the program to its end.
  ///
  /// - Parameters:
  ///   - arguments: What stands after `strata`.
  ///   - input: What standard input holds; nothing without it.
  init(
    _ arguments: [String], input: String = "", environment: [String: String] = [:], program: URL = Self.program
  ) throws {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let folder = try TemporaryFolder()
    let (outputFile, complaintFile) = (folder.url.appending(path: "out"), folder.url.appending(path: "err"))
    let inputFile = folder.url.appending(path: "in")
    try Data(input.utf8).write(to: inputFile)
    for file in [outputFile, complaintFile] { try Data().write(to: file) }
    process.standardInput = try FileHandle(forReadingFrom: inputFile)
    process.standardOutput = try FileHandle(forWritingTo: outputFile)
    process.standardError = try FileHandle(forWritingTo: complaintFile)
    try process.run()
    process.waitUntilExit()
    status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    output = String(decoding: try Data(contentsOf: outputFile), as: UTF8.self)
    complaint = String(decoding: try Data(contentsOf: complaintFile), as: UTF8.self)
  }

  /// The program that was built together with these tests.
  static let program: URL = {
    let bundle = CommandLine.arguments.first { $0.contains(".xctest") }.map { URL(filePath: $0) }
    var folder = bundle ?? URL(filePath: CommandLine.arguments[0])
    while folder.path.count > 1 {
      folder.deleteLastPathComponent()
      let candidate = folder.appending(path: "strata")
      if FileManager.default.isExecutableFile(atPath: candidate.path), !candidate.hasDirectoryPath { return candidate }
    }
    return URL(filePath: ".build/debug/strata")
  }()
}

/// A folder that is removed when the last reference is let go.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "strata-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of a name in the folder.
  func path(_ name: String) -> String { url.appending(path: name).path }

  /// Writes a text file and answers its path.
  func file(_ name: String, _ text: String) throws -> String {
    try Data(text.utf8).write(to: url.appending(path: name))
    return path(name)
  }

  /// Writes a script of bash that stands in for ssh, and returns the environment in which the verbs find it. Without one it runs the command
  /// here.
  ///
  /// Another process writes it: a process that a test starts meanwhile would inherit the open file, and the system does not run a file that
  /// is open for writing.
  func standIn(_ script: String = #"shift 2; exec sh -c "$1""#) throws -> [String: String] {
    let path = path("ssh-\(UUID().uuidString)")
    let writer = try Process.run(
      URL(filePath: "/bin/sh"),
      arguments: ["-c", #"printf '#!/bin/bash\n%s\n' "$2" > "$1" && chmod 755 "$1""#, "sh", path, script])
    writer.waitUntilExit()
    let programs = ProgramRun.program.deletingLastPathComponent().path
    return ["STRATA_SSH": path, "PATH": "\(programs):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"]
  }
}
