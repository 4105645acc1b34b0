import StrataEngine
import StrataLocks

/// The entries of one state of an index, in stored order: the blocks of its pages as one stream.
///
/// A row is an entry that begins on a page, or the damaged end of a page; so damage takes a place in the list and every readable entry
/// keeps its own. Counting rows reads the pages before them once; all other calls cost only the pages that they touch.
package final class EntryList: Sendable {
  package let source: PageFiles
  package let pages: [DatedIdentifier]
  /// Rows before each page, as far as they are counted.
  private let rowsBefore = Mutex<[Int]>([0])

  init(source: PageFiles, pages: [DatedIdentifier]) {
    self.source = source
    self.pages = pages
  }

  /// The place of a row.
  package struct Place: Hashable, Comparable, Sendable {
    package var page: Int
    package var row: Int

    static let start = Place(page: 0, row: 0)

    var next: Place { Place(page: page, row: row + 1) }

    package static func < (left: Self, right: Self) -> Bool { (left.page, left.row) < (right.page, right.row) }
  }

  package func page(_ number: Int) -> Page { source.page(pages[number]) }

  /// Whether the rows are counted to the end, so that `rowCount` costs nothing.
  var isCounted: Bool { rowsBefore.withLock { $0.count } > pages.count }

  /// The number of rows; reads every page once.
  package var rowCount: Int { rows(before: pages.count) }

  /// The rows of the pages before one; reads those that were never counted.
  package func rows(before page: Int) -> Int {
    while true {
      let counted = rowsBefore.withLock { $0.count }
      if counted > page { return rowsBefore.withLock { $0[page] } }
      let rows = source.rowCount(of: pages[counted - 1])
      rowsBefore.withLock { sums in
        if sums.count == counted { sums.append(sums[counted - 1] + rows) }
      }
    }
  }

  package func rank(of place: Place) -> Int { rows(before: place.page) + place.row }

  /// The place of the row at a rank, or nil beyond the end; counts the pages up to it.
  package func place(ofRow rank: Int) -> Place? {
    guard rank >= 0 else { return nil }
    var end = rowsBefore.withLock { $0.count } - 1
    while end < pages.count, rows(before: end) <= rank { end += 1 }
    guard rank < rows(before: end) else { return nil }
    let page = rowsBefore.withLock { sums in sums.partitionIndex { $0 > rank } } - 1
    return Place(page: page, row: rank - rows(before: page))
  }

  /// The assembled bytes of an entry, and the number of the last page that it touches.
  package struct Stored: Sendable {
    package var bytes: [UInt8]
    package var lastPage: Int
  }

  /// Joins the parts of an entry. With `limit` it stops after that number of bytes, for a look at the headers.
  package func read(_ place: Place, limit: Int = .max) throws(FolderError) -> Stored {
    var page = page(place.page)
    guard place.row < page.starts.count else {
      throw source.error(of: pages[place.page], page.damage ?? FormatError("the page has no such entry"))
    }
    var number = place.page
    var block = page.starts[place.row]
    var stored = Stored(bytes: Array(page.bytes[page.blocks[block].payload]), lastPage: number)
    while page.blocks[block].kind.isOpen, stored.bytes.count < limit {
      block += 1
      while block == page.blocks.count {
        if let damage = page.damage { throw source.error(of: pages[number], damage) }
        number += 1
        guard number < pages.count else {
          throw source.error(of: pages[place.page], FormatError("an entry has no end in the index", at: nil))
        }
        page = self.page(number)
        block = 0
      }
      guard !page.blocks[block].kind.isStart else {
        let offset = page.blocks[block].offset
        throw source.error(of: pages[number], FormatError("an entry begins where another has no end yet", at: offset))
      }
      stored.bytes += page.bytes[page.blocks[block].payload]
      stored.lastPage = number
    }
    return stored
  }

  /// The rows at and behind a place, in order. A page is read when the walk comes to it.
  func rows(from place: Place = .start) -> some Sequence<Place> {
    sequence(state: place) { [self] place in
      guard let row = row(atOrAfter: place) else { return nil }
      place = row.next
      return row
    }
  }

  /// The first row of the list at or after a place, or nil at the end.
  package func row(atOrAfter place: Place) -> Place? {
    var place = place
    while place.page < pages.count {
      if place.row < source.rowCount(of: pages[place.page]) { return place }
      place = Place(page: place.page + 1, row: 0)
    }
    return nil
  }
}
