import StrataDocuments
import StrataModel
import Foundation

@testable import StrataFolders

/// Writes folders of the original library's format from scratch, for cases that no real store at hand has.
///
/// Pages of equal bytes within an index are written once, so states share what they have in common, as real ones do.
final class FolderBuilder {
  let directory: TemporaryDirectory
  let path: String
  /// Pages hold no more bytes than this.
  var pageSize = 4096
  private var count: UInt64 = 0
  private(set) var snapshot: DatedIdentifier
  private(set) var current: DatedIdentifier?
  private var pages: [String: String] = [:]
  private var roots: [String: String] = [:]

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path + "/built.persistencestore"
    snapshot = Self.identifier(0)
    write("Info.json", #"{"version":"alpha","modificationDate":"2026-11-20T13:53:53.486Z"}"#)
  }

  struct Datastore {
    var key: String
    var identifierType = "Int"
    var version = "1"
    /// Nil: registered, never written.
    var records: [Entry]? = []
    var indexes: [Index] = []
    /// Nil: the number of records.
    var size: Int?
  }

  /// Headers as JSON, and the content.
  struct Entry {
    var headers: [String]
    var content: [UInt8]

    static func record(_ identifier: String, _ content: String, version: String = "1") -> Entry {
      Entry(headers: [version, identifier], content: Array(content.utf8))
    }

    static func direct(_ value: String, _ identifier: String, _ content: String, version: String = "1") -> Entry {
      Entry(headers: [version, value, identifier], content: Array(content.utf8))
    }

    static func reference(_ value: String, _ identifier: String) -> Entry {
      Entry(headers: [value], content: Array(identifier.utf8))
    }

    var bytes: [UInt8] {
      headers.flatMap { Array("\($0.utf8.count) \($0)\n".utf8) } + [UInt8(ascii: "\n")] + content
    }
  }

  struct Index {
    var name: String
    var type: String
    var isDirect = false
    var version = "1"
    var entries: [Entry]
  }

  // MARK: Commits

  /// Writes an iteration and makes it the current one.
  @discardableResult
  func commit(_ datastores: [Datastore], action: String? = nil, preceding: String?? = nil) -> DatedIdentifier {
    let identifier = nextIdentifier()
    let stores = datastores.map { datastore in
      let root = datastore.records.map { #","root":"\#(writeRoot(datastore, records: $0))""# } ?? ""
      return
        #"\#(Self.literal(datastore.key)):{"key":\#(Self.literal(datastore.key)),"id":"\#(folder(datastore))"\#(root)}"#
    }
    let before = preceding ?? current.map(\.description)
    let link = FolderHistory.Link(iteration: identifier, snapshot: snapshot)
    write(
      link.file,
      """
      {"version":"alpha","id":"\(identifier)","creationDate":"2026-11-20T13:53:\(10 + count % 40).\(100 + count % 900)Z",\
      \(action.map { #""actionName":\#(Self.literal($0)),"# } ?? "")\
      \(before.map { #""precedingIteration":"\#($0)","# } ?? "")\
      "successiveIterations":[],"dataStores":{\(stores.joined(separator: ","))},"addedDatastores":[],\
      "removedDatastores":[],"addedDatastoreRoots":[],"removedDatastoreRoots":[]}
      """)
    point(to: identifier)
    return identifier
  }

  /// Replaces the pointers, as the original library does: write aside, then rename.
  func point(to identifier: DatedIdentifier) {
    current = identifier
    write(
      FolderLayout.manifest(of: snapshot),
      #"{"version":"alpha","id":"\#(snapshot)","modificationDate":"2026-11-20T13:53:53.625Z","currentIteration":"\#(identifier)"}"#
    )
    write(
      "Info.json",
      #"{"version":"alpha","modificationDate":"2026-11-20T13:53:53.486Z","currentSnapshot":"\#(snapshot)"}"#)
  }

  func folder(_ datastore: Datastore) -> String {
    "\(datastore.key.filter { $0.isASCII && $0.isLetter }.prefix(16))-0123456789ABCDEF"
  }

  /// A state that was written before has its root already.
  private func writeRoot(_ datastore: Datastore, records: [Entry]) -> String {
    let content = "\(datastore)"
    if let known = roots[content] { return known }
    let root = writeNewRoot(datastore, records: records)
    roots[content] = root
    return root
  }

  private func writeNewRoot(_ datastore: Datastore, records: [Entry]) -> String {
    let base = "\(FolderLayout.snapshot(snapshot))/Datastores/\(folder(datastore)).datastore"
    let primary = writeIndex(records, at: "\(base)/DirectIndexes/Primary.datastoreindex")
    func references(_ isDirect: Bool) -> String {
      datastore.indexes.filter { $0.isDirect == isDirect }.map { index in
        let folder = "\(index.name)-FEDCBA9876543210"
        let manifest = writeIndex(
          index.entries, at: "\(base)/\(isDirect ? "DirectIndexes" : "SecondaryIndexes")/\(folder).datastoreindex")
        return #"{"name":\#(Self.literal(index.name)),"id":"\#(folder)","root":"\#(manifest)"}"#
      }.joined(separator: ",")
    }
    func descriptors(_ isDirect: Bool) -> String {
      datastore.indexes.filter { $0.isDirect == isDirect }.map { index in
        let name = Self.literal(index.name)
        return #"\#(name):{"name":\#(name),"type":"\#(index.type)","version":"\#(Self.base64(index.version))"}"#
      }.joined(separator: ",")
    }
    let identifier = nextIdentifier().description
    write(
      "\(base)/Root/\(identifier).json",
      """
      {"version":"alpha","id":"\(identifier)","modificationDate":"2026-11-20T13:53:53.661Z",\
      "primaryIndexManifest":"\(primary)","directIndexManifests":[\(references(true))],\
      "secondaryIndexManifests":[\(references(false))],"addedIndexes":[],"removedIndexes":[],\
      "addedIndexManifests":[],"removedIndexManifests":[],\
      "descriptor":{"version":"\(Self.base64(datastore.version))","instanceType":"Thing",\
      "identifierType":"\(datastore.identifierType)","directIndexes":{\(descriptors(true))},\
      "referenceIndexes":{\(descriptors(false))},"size":\(datastore.size ?? records.count)}}
      """)
    return identifier
  }

  private func writeIndex(_ entries: [Entry], at base: String) -> String {
    let manifest = nextIdentifier().description
    let lines = Self.paginate(entries.map(\.bytes), pageSize: pageSize).map { page in
      let key = base + String(decoding: page, as: UTF8.self)
      if let known = pages[key] { return " \(known)\n" }
      let identifier = nextIdentifier()
      pages[key] = identifier.description
      write(FolderLayout.page(identifier, of: base), page)
      return "+\(identifier)\n"
    }
    write("\(base)/Manifest/\(manifest).indexmanifest", "INDEX\n" + lines.joined())
    return manifest
  }

  /// Lays entries out as the original library does: an entry that does not fit goes on on the next page, and no page
  /// ends in four bytes or less of room.
  static func paginate(_ entries: [[UInt8]], pageSize: Int) -> [[UInt8]] {
    var pages: [[UInt8]] = []
    var page = Page.header
    for entry in entries {
      var rest = entry[...]
      var isFirst = true
      while !rest.isEmpty {
        let room =
          pageSize - page.count - 4 - (pageSize - page.count > 13 ? 1 : 0) - (pageSize - page.count > 104 ? 1 : 0)
          - (pageSize - page.count > 1005 ? 1 : 0)
        if room < 1 {
          pages.append(page)
          page = Page.header
          continue
        }
        let part = rest.prefix(room)
        rest = rest.dropFirst(room)
        let kind: Page.Kind = isFirst ? (rest.isEmpty ? .whole : .head) : (rest.isEmpty ? .tail : .middle)
        page += [kind.rawValue] + Array("\(part.count)\n".utf8) + part + [UInt8(ascii: "\n")]
        isFirst = false
      }
    }
    if page.count > Page.header.count || pages.isEmpty && !entries.isEmpty { pages.append(page) }
    return pages
  }

  // MARK: Files

  func write(_ file: String, _ text: String) { write(file, Array(text.utf8)) }

  func write(_ file: String, _ bytes: [UInt8]) {
    let target = URL(filePath: "\(path)/\(file)")
    try? FileManager.default.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
    try? Data(bytes).write(to: target, options: .atomic)
  }

  func nextIdentifier() -> DatedIdentifier {
    count += 1
    return Self.identifier(count)
  }

  static func identifier(_ number: UInt64) -> DatedIdentifier {
    let digits = String(number, radix: 16, uppercase: true)
    let text = "2026-11-20 13-53-53-486 " + String(repeating: "0", count: 16 - digits.count) + digits
    guard let identifier = DatedIdentifier(text) else { fatalError("no identifier: \(text)") }
    return identifier
  }

  static func literal(_ text: String) -> String { Document.string(text).compactJSON }
  private static func base64(_ json: String) -> String { Data(json.utf8).base64EncodedString() }

  func open() throws -> FolderStore { try FolderStore(at: path) }

  /// The paths of all files whose names have a suffix, sorted.
  func files(_ suffix: String) -> [String] { FolderFiles(path: path).files(suffix) }
}

extension FolderFiles {
  func files(_ suffix: String) -> [String] {
    var found: [String] = []
    walk { file, _ in if file.hasSuffix(suffix) { found.append(file) } }
    return found
  }
}

/// Random numbers that are the same in every run of a seed.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state &* 0x2545_F491_4F6C_DD1D
  }
}

/// Takes a file away.
func remove(_ file: String, of builder: FolderBuilder) {
  try? FileManager.default.removeItem(atPath: "\(builder.path)/\(file)")
}
