import StrataAtlas
import CodableDatastore
import StrataExchange
import StrataModel
import StoreEntities
import StrataFolders
import StrataEngine
import StrataFoundation

/// Opens the store at a path: one of our stores, a folder of the original library, a file of documents (in memory), or the store on a
/// server or behind ssh that a URL names.
///
/// - Throws: `ModelError` with one sentence: nothing there, not a store, a newer format, damage, no permission.
/// - Parameters:
///   - encoding: the encoding of a file of documents; nil detects it.
///   - waits: whether to wait for an unreachable server.
func openStore(
  _ path: String, readOnly: Bool, encoding: TextEncoding? = nil, waits: Bool = true
) throws(ModelError) -> any ReadableStore {
  if RemoteLocation.isSSH(path) { return try openRemote(path, readOnly: readOnly) }
  if isServer(path) { return try openServer(path, readOnly: readOnly, waits: waits) }
  if OriginalFolder.exists(at: path) { return try FolderStore(at: path) }
  if isDocumentFile(path) {
    guard readOnly else {
      throw ModelError.readOnly(
        reason: "\(path) is a file that is only read here; strata import makes a store of it, strata \(path) edits it")
    }
    let (store, file) = try DocumentFile.open(path, encoding: encoding, isEditable: false, author: currentUser())
    if let rejection = file.report.rejections.first {
      complain("\(counted(file.report.rejected, "row")) left out, the first: \(rejection)")
    }
    return store
  }
  // Only commits have an author, and the system reads several files to find the name.
  do {
    let store = try EngineStore.open(
      path: path, readOnly: readOnly, program: "strata", author: readOnly ? "" : currentUser())
    guard case .readWrite = store.access else { return store }
    return try onFailures { try typedStore(DiskPersistence(readWriteURL: URL(filePath: path)), store.head) ?? store }
  } catch { throw error.opening(path) }
}

/// Whether a path is a file of documents that can be opened as a store in memory: by its name, and not a folder.
func isDocumentFile(_ path: String) -> Bool {
  guard DocumentFile.isNamed(path), let status = try? SystemDisk().status(path) else { return false }
  return !status.isDirectory
}

/// Whether a view has the datastores of the app whose types are compiled into this program.
private func isAtlas(_ view: any ReadableView) throws(ModelError) -> Bool {
  let descriptors = try view.readableDatastores { _ in }.map(\.descriptor)
  return descriptors.map(\.instanceType) == ["City", "Country"]
    && descriptors.map(\.identifierType) == ["Int", "String"]
}

/// Returns the store with the types that are compiled into this program, of the app `Atlas` and of entities, so that they check edits.
/// Returns nil if it has none of these, or if its types differ from the present declarations.
func typedStore(
  _ persistence: some Persistence<ReadWrite>, _ view: any ReadableView
) throws(ModelError) -> (any ReadableStore)? {
  let ofEntities = try view.readableDatastores { _ in }.map(\.descriptor).filter(\.keepsEntities).map(\.key)
  let isAtlas = try isAtlas(view)
  guard isAtlas || !ofEntities.isEmpty else { return nil }
  return try onFailures {
    var datastores: [any BrowsableDatastore] = ofEntities.map { key in
      EntityStore(persistence, key: DatastoreKey(key)).datastore
    }
    if isAtlas {
      datastores += [CityFormat.datastore(in: persistence), CountryFormat.datastore(in: persistence)]
    }
    let browsable = try persistence.browsable(with: datastores, releasesLock: true)
    return try browsable.warmUp?.plan().isEmpty == true ? browsable.store : nil
  }
}
