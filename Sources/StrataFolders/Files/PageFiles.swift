import StrataModel
import StrataLocks

/// The pages of one index of the folder, each read when it is first asked for.
///
/// Page files never change, so a page that was read stays valid for every state that lists it. One that is damaged may be repaired, so
/// its owner is notified.
package final class PageFiles: Sendable {
  let files: FolderFiles
  /// The index's path within the folder.
  package let index: String
  private let cache = Mutex(BoundedCache<DatedIdentifier, Page>(half: 256))
  private let rowCounts = Mutex<[DatedIdentifier: Int]>([:])
  private let reads = Mutex(0)
  private let noteDamage: @Sendable () -> Void

  init(files: FolderFiles, index: String, noteDamage: @escaping @Sendable () -> Void) {
    self.files = files
    self.index = index
    self.noteDamage = noteDamage
  }

  /// The number of page files that were read, for tests that count work.
  package var readCount: Int { reads.withLock { $0 } }

  package func path(of page: DatedIdentifier) -> String { FolderLayout.page(page, of: index) }

  /// A page; one that is missing or cannot be read is a page of damage alone.
  package func page(_ identifier: DatedIdentifier) -> Page {
    if let page = cache.withLock({ $0[identifier] }) { return page }
    let page: Page
    do throws(FolderError) {
      page = Page(parsing: try files.bytes(of: path(of: identifier)))
    } catch {
      page = Page(unreadable: error.reason)
    }
    reads.withLock { $0 += 1 }
    cache.withLock { $0[identifier] = page }
    rowCounts.withLock { $0[identifier] = page.rowCount }
    if page.damage != nil { noteDamage() }
    return page
  }

  /// `Page.rowCount`, remembered for all pages ever counted: 24 bytes each.
  func rowCount(of identifier: DatedIdentifier) -> Int {
    rowCounts.withLock { $0[identifier] } ?? page(identifier).rowCount
  }

  /// The error of the damaged end of a page.
  func error(of identifier: DatedIdentifier, _ damage: FormatError) -> FolderError {
    FolderError(file: path(of: identifier), damage)
  }
}
