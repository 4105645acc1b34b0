import CodableDatastore
import Foundation
import LibraryModel

// The model of Examples/Library with two processes: this one is the app, and starts itself as the extension.

struct Failure: Error, CustomStringConvertible {
  var description: String
}

func require(_ isRight: Bool, _ what: String) throws {
  if !isRight { throw Failure(description: "wrong: \(what)") }
}

func asExtension(_ url: URL) async throws {
  try await SharedBook.send(Book(id: "1", title: "Ulysses"), toStoreAt: url)
  try await SharedBook.send(Book(id: "2", title: "Dubliners", author: 1, shelf: 1), toStoreAt: url)
}

func asApp(_ url: URL) async throws {
  func share() throws {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0])
    process.arguments = ["share", url.path()]
    try process.run()
    process.waitUntilExit()
    try require(process.terminationStatus == 0, "the extension has failed")
  }
  // Before there is a store.
  try share()
  let library = try Library(at: url)
  var events = library.persistence.inbox.events.makeAsyncIterator()
  _ = try await library.books.count
  for _ in 0..<2 {
    guard case .applied? = await events.next() else { throw Failure(description: "a letter was refused") }
  }
  try require(try await library.books.load("Ulysses", from: \.title).firstInstance?.id == "1", "the shared book")
  // While the app is prepared for its suspension letters wait, and the widget reads.
  try await library.persistence.suspend()
  try await library.books.load("2").map { try require($0.title == "Dubliners", "reading while suspended") }
  try share()
  let summary = try await Summary.read(fromStoreAt: url)
  try require(summary == Summary(bookCount: 2, newestTitle: "Dubliners"), "the widget's summary: \(summary)")
  await library.persistence.resume()
  for _ in 0..<2 { _ = await events.next() }
  try require(try await library.books.count == 2, "letters that come again replace")
  try await library.persistence.close()
}

if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "share" {
  try await asExtension(URL(filePath: CommandLine.arguments[2]))
} else {
  let folder = FileManager.default.temporaryDirectory.appending(path: "library-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: folder) }
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  try await asApp(folder.appending(path: "Library.persistencestore"))
  print("LibraryExample: everything right")
}
