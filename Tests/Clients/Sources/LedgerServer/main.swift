import CodableDatastore
import Foundation

// A server that is killed at random, written from the guides alone. The parent starts it, kills it after some time, and looks
// whether everything that it reported as saved is there, and nothing by halves.

struct Account: Codable, Identifiable, Sendable {
  var id: Int
  var balance: Int
}

struct AccountFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Account
  static let defaultKey: DatastoreKey = "Accounts"
  static let currentVersion = Version.first
  let balance = Index(\.balance)
}

struct Transfer: Codable, Identifiable, Sendable {
  var id: Int
  var from: Int
  var to: Int
  var amount: Int
}

struct TransferFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Transfer
  static let defaultKey: DatastoreKey = "Transfers"
  static let currentVersion = Version.first
}

struct Bank: Sendable {
  let persistence: DiskPersistence<ReadWrite>
  let accounts: AccountFormat.Datastore
  let transfers: TransferFormat.Datastore

  init(at url: URL) throws {
    persistence = try DiskPersistence(readWriteURL: url)
    accounts = .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Account.self, from: $1) }])
    transfers = .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Transfer.self, from: $1) }])
  }

  func transfer(_ transfer: Transfer) async throws {
    try await persistence.perform(actionName: "Transfer") {
      guard var from = try await accounts.load(transfer.from), var to = try await accounts.load(transfer.to) else {
        return
      }
      from.balance -= transfer.amount
      to.balance += transfer.amount
      try await accounts.persist(from)
      try await accounts.persist(to)
      try await transfers.persist(transfer)
    }
  }
}

/// The server: four clients that transfer, and print each transfer once it is saved.
func serve(at url: URL, from first: Int) async throws {
  let bank = try Bank(at: url)
  if try await bank.accounts.count == 0 {
    try await bank.persistence.perform {
      for id in 0..<20 { try await bank.accounts.persist(Account(id: id, balance: 100)) }
    }
  }
  try await withThrowingTaskGroup(of: Void.self) { group in
    for client in 0..<4 {
      group.addTask {
        for number in stride(from: first + client, to: first + 100_000, by: 4) {
          try await bank.transfer(
            Transfer(id: number, from: number % 20, to: (number * 7 + 3) % 20, amount: number % 5 + 1))
          try FileHandle.standardOutput.write(contentsOf: Data("\(number)\n".utf8))
        }
      }
    }
    try await group.waitForAll()
  }
}

/// Starts the server, kills it after a while, and answers what it said it had saved.
func killAtRandom(_ url: URL, from first: Int) throws -> [Int] {
  let server = Process()
  server.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
  server.arguments = ["serve", url.path, "\(first)"]
  let output = Pipe()
  server.standardOutput = output
  try server.run()
  Thread.sleep(forTimeInterval: .random(in: 0.05...0.4))
  kill(server.processIdentifier, SIGKILL)
  server.waitUntilExit()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  return text.split(separator: "\n", omittingEmptySubsequences: true).dropLast(text.hasSuffix("\n") ? 0 : 1)
    .compactMap { Int($0) }
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "serve" {
  try await serve(at: URL(fileURLWithPath: CommandLine.arguments[2]), from: Int(CommandLine.arguments[3]) ?? 0)
} else {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-\(UUID().uuidString).strata")
  defer { try? FileManager.default.removeItem(at: url) }
  var saved: Set<Int> = []
  for round in 0..<8 {
    saved.formUnion(try killAtRandom(url, from: round * 100_000))
    let bank = try Bank(at: url)
    let total = try await bank.accounts.load(...).reduce(0) { $0 + $1.balance }
    let count = try await bank.accounts.count
    guard total == count * 100 else { fatalError("round \(round): money came or went: \(total)") }
    let there = Set(try await bank.transfers.load(...).map(\.id).collectInstances(upTo: .infinity))
    guard saved.isSubset(of: there) else { fatalError("round \(round): lost \(saved.subtracting(there))") }
    let ordered = try await bank.accounts.load(..., from: \.balance).map(\.balance).collectInstances(upTo: .infinity)
    guard ordered == ordered.sorted() else { fatalError("round \(round): the index") }
    try await bank.persistence.close()
  }
  guard !saved.isEmpty else { fatalError("nothing was ever saved") }
  print("ok")
}
