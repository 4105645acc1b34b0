import Atlas
import CodableDatastore
import DatastoreModel
import FolderStore
import StorageEngine
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Opens whatever lies at a path: one of our stores, a folder of the original library, or, in memory, a file of documents.
///
/// - Throws: `ModelError` with one sentence: nothing there, no store, a newer format, damage, no permission.
func openStore(_ path: String, readOnly: Bool) throws(ModelError) -> any ReadableStore {
  if OriginalFolder.exists(at: path) { return try FolderStore(at: path) }
  if isDocumentFile(path) {
    guard readOnly else {
      throw ModelError.readOnly(
        reason: "\(path) is a file that is only read here; strata import makes a store of it, strata \(path) edits it")
    }
    let (store, file) = try DocumentFile.open(path, author: currentUser())
    if let rejection = file.report.rejections.first {
      complain("\(counted(file.report.rejected, "row")) left out, the first: \(rejection)")
    }
    return store
  }
  let store = try OwnStore.open(path: path, readOnly: readOnly, program: "strata", author: currentUser())
  guard case .readWrite = store.access, try isAtlas(store.head) else { return store }
  return try atlasStore(at: path) ?? store
}

/// Whether a path is a file of documents that can be opened as a store in memory: named as one, and no folder.
func isDocumentFile(_ path: String) -> Bool {
  guard DocumentFile.isNamed(path), let status = try? SystemDisk().status(path) else { return false }
  return !status.isDirectory
}

/// Whether a view has the datastores of the app whose types are compiled into this program.
private func isAtlas(_ view: any ReadableView) throws(ModelError) -> Bool {
  let descriptors = try view.datastores.map(\.descriptor)
  return descriptors.map(\.instanceType) == ["City", "Country"]
    && descriptors.map(\.identifierType) == ["Int", "String"]
}

/// The store with the types of the app `Atlas`, so that edits are checked by them; nil where it is not as the app
/// declares it now.
private func atlasStore(at path: String) throws(ModelError) -> (any ReadableStore)? {
  do {
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: path))
    let browsable = try persistence.browsable(
      with: CityFormat.datastore(in: persistence), CountryFormat.datastore(in: persistence), releasesLock: true)
    return try browsable.warmUp?.plan().isEmpty == true ? browsable.store : nil
  } catch let error as ModelError {
    throw error
  } catch {
    throw .storage("\(error)", kind: .failed)
  }
}
