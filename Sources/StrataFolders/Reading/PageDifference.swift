/// The runs of pages in which two states of an index differ, without the pages that they share.
struct PageDifference: Sendable {
  /// Pages of the old list and the pages of the new list that replace them. Either may be empty.
  struct Run: Hashable, Sendable {
    var old: Range<Int>
    var new: Range<Int>
  }

  let runs: [Run]

  /// Compares page lists; a state without a list has no pages. Pages are never changed, so pages in both lists are equal; an entry that goes
  /// on from a shared page into another one belongs to the run.
  init(_ old: EntryList?, _ new: EntryList?) {
    guard let old, let new, old.source === new.source else {
      runs = [Run(old: old?.pages.indices ?? 0..<0, new: new?.pages.indices ?? 0..<0)].filter {
        !$0.old.isEmpty || !$0.new.isEmpty
      }
      return
    }
    var places: [DatedIdentifier: Int] = [:]
    for (place, page) in old.pages.enumerated() { places[page] = place }
    var runs: [Run] = []
    var oldEnd = 0
    var newEnd = 0
    func close(_ oldPlace: Int, _ newPlace: Int) {
      guard oldEnd < oldPlace || newEnd < newPlace else { return }
      runs.append(Run(old: oldEnd..<oldPlace, new: newEnd..<newPlace))
    }
    for (newPlace, page) in new.pages.enumerated() {
      guard let oldPlace = places[page], oldPlace >= oldEnd else { continue }
      close(oldPlace, newPlace)
      oldEnd = oldPlace + 1
      newEnd = newPlace + 1
    }
    close(old.pages.count, new.pages.count)
    self.runs = Self.merged(runs.map { Self.widened($0, old, new) })
  }

  /// Adds the shared pages before a run on which an entry begins that reaches into the run.
  private static func widened(_ run: Run, _ old: EntryList, _ new: EntryList) -> Run {
    var run = run
    guard continues(into: run.old, of: old) || continues(into: run.new, of: new) else { return run }
    while run.old.lowerBound > 0, run.new.lowerBound > 0 {
      let page = run.old.lowerBound - 1
      guard old.pages[page] == new.pages[run.new.lowerBound - 1] else { break }
      run.old = page..<run.old.upperBound
      run.new = (run.new.lowerBound - 1)..<run.new.upperBound
      if !old.page(page).starts.isEmpty { break }
    }
    return run
  }

  /// Whether a run begins with the rest of an entry from the shared pages before it.
  private static func continues(into run: Range<Int>, of list: EntryList) -> Bool {
    var page = run.lowerBound
    while page < list.pages.count {
      if let beginsOpen = list.page(page).beginsOpen { return beginsOpen }
      page += 1
    }
    return false
  }

  /// Widening may make runs touch.
  private static func merged(_ runs: [Run]) -> [Run] {
    var merged: [Run] = []
    for run in runs {
      if let last = merged.last, run.old.lowerBound < last.old.upperBound || run.new.lowerBound < last.new.upperBound {
        merged[merged.count - 1] = Run(
          old: last.old.lowerBound..<run.old.upperBound, new: last.new.lowerBound..<run.new.upperBound)
      } else {
        merged.append(run)
      }
    }
    return merged
  }
}
