import StrataModel
import StrataLocks

/// The contents of a folder that were read so far. Everything that it returns is immutable, in memory as on disk, so all views share it.
package final class FolderContents: Sendable {
  package let files: FolderFiles
  private let iterations = Mutex(BoundedCache<FolderHistory.Link, IterationFile>(half: 512))
  private let roots = Mutex(BoundedCache<String, RootFile>(half: 256))
  private let lists = Mutex(BoundedCache<String, EntryList>(half: 128))
  /// The datastores that were opened, by key and root.
  let datastores = Mutex(BoundedCache<[String], FolderDatastore>(half: 16))
  private let pages = Mutex<[String: PageFiles]>([:])
  /// Whether a file that could not be read was met since the last look at the folder.
  private let hasMetDamage = Atomic(false)

  package init(path: String) { files = FolderFiles(path: path) }

  package func iteration(_ link: FolderHistory.Link) throws(FolderError) -> IterationFile {
    try iterations.value(of: link) { () throws(FolderError) in try parse(link.file) }
  }

  /// A root, by its path.
  package func root(_ file: String) throws(FolderError) -> RootFile {
    try roots.value(of: file) { () throws(FolderError) in try parse(file) }
  }

  /// The entries that an index manifest lists.
  package func entries(of index: String, manifest: FolderName) throws(FolderError) -> EntryList {
    let file = FolderLayout.indexManifest(manifest, of: index)
    return try lists.value(of: file) { () throws(FolderError) in
      let manifest: IndexManifest = try parse(file)
      return EntryList(source: pageFiles(of: index), pages: manifest.pages)
    }
  }

  package func pageFiles(of index: String) -> PageFiles {
    pages.withLock { pages in
      if let known = pages[index] { return known }
      let new = PageFiles(files: files, index: index) { [weak self] in self?.noteDamage() }
      pages[index] = new
      return new
    }
  }

  /// The number of page files that were read, for tests that count work.
  package var pageReadCount: Int { pages.withLock { $0.values.reduce(0) { $0 + $1.readCount } } }

  func parse<File: ParsedFile>(_ file: String) throws(FolderError) -> File {
    do throws(FolderError) {
      let bytes = try files.bytes(of: file)
      do throws(FormatError) { return try File(parsing: bytes) } catch { throw FolderError(file: file, error) }
    } catch {
      noteDamage()
      throw error
    }
  }

  private func noteDamage() { hasMetDamage.store(true, ordering: .releasing) }

  /// Forgets what was read of indexes and datastores if a file of them could not be read: it may have been repaired since.
  ///
  /// - Returns: Whether anything was forgotten.
  func forgetDamage() -> Bool {
    guard hasMetDamage.exchange(false, ordering: .acquiringAndReleasing) else { return false }
    pages.withLock { $0 = [:] }
    lists.withLock { $0.removeAll() }
    datastores.withLock { $0.removeAll() }
    return true
  }
}
