import DatastoreModel
import Locks

/// The contents of a folder that were read so far. Everything that it returns is immutable, in memory as on disk, so all views share it.
package final class FolderContents: Sendable {
  package let files: FolderFiles
  private let iterations = Mutex(BoundedCache<FolderHistory.Link, IterationFile>(half: 512))
  private let roots = Mutex(BoundedCache<String, RootFile>(half: 256))
  private let lists = Mutex(BoundedCache<String, EntryList>(half: 128))
  private let datastores = Mutex(BoundedCache<String, FolderDatastore>(half: 16))
  private let pages = Mutex<[String: PageFiles]>([:])

  package init(path: String) { files = FolderFiles(path: path) }

  package func iteration(_ link: FolderHistory.Link) throws(FolderError) -> IterationFile {
    if let iteration = iterations.withLock({ $0[link] }) { return iteration }
    let iteration = try parse(link.file) { (bytes) throws(FormatError) in try IterationFile(parsing: bytes) }
    iterations.withLock { $0[link] = iteration }
    return iteration
  }

  /// A root, by its path.
  package func root(_ file: String) throws(FolderError) -> RootFile {
    if let root = roots.withLock({ $0[file] }) { return root }
    let root = try parse(file) { (bytes) throws(FormatError) in try RootFile(parsing: bytes) }
    roots.withLock { $0[file] = root }
    return root
  }

  /// The entries that an index manifest lists.
  package func entries(of index: String, manifest: FolderName) throws(FolderError) -> EntryList {
    let file = FolderLayout.indexManifest(manifest, of: index)
    if let list = lists.withLock({ $0[file] }) { return list }
    let manifest = try parse(file) { (bytes) throws(FormatError) in try IndexManifest(parsing: bytes) }
    let list = EntryList(source: pageFiles(of: index), pages: manifest.pages)
    lists.withLock { $0[file] = list }
    return list
  }

  /// A datastore that was opened already, by its root.
  func datastore(_ key: String, root file: String) -> FolderDatastore? {
    guard let known = datastores.withLock({ $0[file] }), known.descriptor.key == key else { return nil }
    return known
  }

  func keep(_ datastore: FolderDatastore, root file: String) { datastores.withLock { $0[file] = datastore } }

  package func pageFiles(of index: String) -> PageFiles {
    pages.withLock { pages in
      if let known = pages[index] { return known }
      let new = PageFiles(files: files, index: index)
      pages[index] = new
      return new
    }
  }

  /// The number of page files that were read, for tests that count work.
  package var pageReadCount: Int { pages.withLock { $0.values.reduce(0) { $0 + $1.readCount } } }

  func parse<Value>(
    _ file: String, _ body: (_ bytes: [UInt8]) throws(FormatError) -> Value
  ) throws(FolderError) -> Value {
    let bytes = try files.bytes(of: file)
    do throws(FormatError) {
      return try body(bytes)
    } catch {
      throw FolderError(file: file, error)
    }
  }
}
