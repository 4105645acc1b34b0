/// The ranks of a table's rows in their order: a run of the index from either end, or the list that a filter or an order made. A run takes
/// no memory for its rows.
package struct RowRanks: RandomAccessCollection, Sendable, Hashable {
  private enum Form: Sendable, Hashable {
    case run(Range<Int>, isDescending: Bool)
    case list([Int])
  }

  private let form: Form
  package let endIndex: Int

  init(run: Range<Int>, isDescending: Bool, limit: Int = .max) {
    form = .run(run, isDescending: isDescending)
    endIndex = Swift.min(run.count, limit)
  }

  init(list: [Int], limit: Int = .max) {
    form = .list(list)
    endIndex = Swift.min(list.count, limit)
  }

  /// Returns the place of a rank in a run; nil in a list, or if the rank is not in the run.
  func position(of rank: Int) -> Int? {
    guard case .run(let run, let isDescending) = form else { return nil }
    let position = isDescending ? run.upperBound - 1 - rank : rank - run.lowerBound
    return indices.contains(position) ? position : nil
  }

  var isRun: Bool { if case .run = form { true } else { false } }

  package var startIndex: Int { 0 }

  package subscript(position: Int) -> Int {
    switch form {
    case .run(let run, let isDescending): isDescending ? run.upperBound - 1 - position : run.lowerBound + position
    case .list(let ranks): ranks[position]
    }
  }
}
