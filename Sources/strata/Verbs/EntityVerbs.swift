import CodableDatastore
import StrataModel
import StrataDocuments
import StoreEntities
import StrataFoundation
import StoreBrowser
#if PostgreSQL
  import PostgresPersistence
#endif

// Entities in and out, in their interchange form.

extension VerbRun {
  /// Takes in a file of entities, in one commit.
  func importEntities() async throws {
    let (path, key, name) = (try required(0), try required(1), try required(2))
    let file = name == "-" ? "standard input" : name
    let text = Data(try ByteStream.text(of: name))
    if isServer(path) {
      let store = try openServer(path, readOnly: false, creates: true)
      if let datastore = try store.head.datastore(key) { try requireEntities(datastore) }
      #if PostgreSQL
        return try await importEntities(text, file, as: key, into: PostgresPersistence(readWriteURL: path))
      #endif
    }
    let files = newFiles(of: path)
    if files.isEmpty, let datastore = try openStore(path, readOnly: true).head.datastore(key) {
      try requireEntities(datastore)
    }
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: path))
    do {
      return try await importEntities(text, file, as: key, into: persistence)
    } catch {
      if !files.isEmpty, let made = try? EngineStore.open(path: path) { remove(files, of: made) }
      throw error
    }
  }

  private func importEntities(
    _ text: Data, _ file: String, as key: String, into persistence: some Persistence<ReadWrite>
  ) async throws {
    do {
      let entities = EntityStore(persistence, key: DatastoreKey(key))
      let name = arguments.value("--name") ?? "import \(file)"
      let report = try await entities.importing(text, actionName: name)
      let head = try await persistence.head
      try await persistence._store.close()
      let dangling = report.dangling > 0 ? ", \(report.dangling) referred to but not there" : ""
      try tell(
        [
          "commit": head.map { Document.number(NumberText($0.id.rawValue)) } ?? .null, "new": .count(report.created),
          "changed": .count(report.updated), "unchanged": .count(report.unchanged),
          "dangling": .count(report.dangling),
        ], or: "\(report.created) new, \(report.updated) changed, \(report.unchanged) unchanged\(dangling)")
    } catch {
      try? await persistence._store.close()
      guard let wrong = error as? EntityError, let sentence = wrong.errorDescription else { throw error }
      throw ModelError.invalid(
        text: "", column: nil, reason: "\(file): \(sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence)")
    }
  }

  /// Prints the entities of a datastore.
  func exportEntities() async throws {
    guard let key = arguments.operand(1) else {
      throw UsageError("--entities are those of one datastore; name it", verb: arguments.verb)
    }
    let path = try required(0)
    // Opened once for its errors, which say what is wrong with the path.
    let store = try store()
    let view = try view(of: store)
    try requireEntities(datastore(key, in: view))
    let file = DiskPersistence(readOnlyURL: URL(filePath: path))
    #if PostgreSQL
      let persistence: any Persistence<ReadOnly> =
        isServer(path) ? try await PostgresPersistence(readOnlyURL: path) : file
    #else
      let persistence = file
    #endif
    var entities = EntityStore(reading: persistence, key: DatastoreKey(key))
    if arguments.has("--at") { entities = try await entities.view(at: Commit.Number(view.commit.rawValue)) }
    try await entities.export(
      form: arguments.has("--compact") ? .compact : .full, history: arguments.has("--history")
    ) { text in try output.bytes([UInt8](text)) }
  }

  /// Fails where a datastore keeps something else than entities.
  private func requireEntities(_ datastore: any ReadableDatastore) throws(ModelError) {
    let descriptor = datastore.descriptor
    if descriptor.keepsEntities { return }
    let type = descriptor.instanceType.isEmpty ? "records" : descriptor.instanceType
    throw .refused(reason: "\(descriptor.key) keeps \(type), not entities")
  }
}
