/// Text as every terminal shows it alike: *canonical cells*.
///
/// Terminals disagree on how many columns a string takes, and one column of error breaks every column to its right.
/// So only what all of them measure alike is shown as it is; the rest becomes a stand-in, told apart by its style:
///
///     "é"         é             a base and its combining marks, at most 5 scalars, in one cell
///     "日"         日            two columns
///     "👩‍👩‍👧", "का"   👩·, क·      what only some terminals join: as this one does (`joining`), else the first scalar and a dot
///     "⚠️"         ⚠             variation selectors are dropped
///     "🇨🇭"        CH            regional indicators as letters
///     "\u{1B}"    ␛             controls as pictures
///     "\u{202E}"  ⟨U+202E⟩      direction and zero-width controls by number
///     newer       □             unassigned in Unicode 14.0, or private
///
/// The widths are a table in the source (`WidthTable`), never the C library's. Everything here is linear in the text
/// that it is asked to look at; `forEachCluster` stops early, so that a long value costs only what is visible.
package enum SafeText {
  package static var unicodeVersion: String { WidthTable.unicodeVersion }

  /// The most scalars that share one cell; ncurses silently drops what is beyond.
  package static let scalarLimit = 5

  /// What one cell of the screen shows.
  package struct Cluster: Hashable, Sendable {
    /// The scalars to print: at most `scalarLimit`.
    package var text: String
    /// Columns: 1 or 2.
    package var width: Int
    /// Whether `text` stands for something that is not printed itself.
    package var isStandIn: Bool

    /// Makes a cluster of text that is known to be canonical.
    package init(text: String, width: Int, isStandIn: Bool = false) {
      self.text = text
      self.width = width
      self.isStandIn = isStandIn
    }
  }

  /// Calls `body` with each canonical cell of `text`, in order, until it answers `false`.
  package static func forEachCluster(
    of text: String, joining: Joining = Self.joining, _ body: (Cluster) -> Bool
  ) {
    let scalars = text.unicodeScalars
    var place = scalars.startIndex
    while place < scalars.endIndex {
      let scalar = scalars[place]
      let next = scalars.index(after: place)
      // What stands alone before another such is a cluster; before anything else a mark may join it.
      if let width = ScalarKind.widthAlone(scalar), next == scalars.endIndex || ScalarKind.standsAlone(scalars[next]) {
        let text = scalar.isASCII ? ascii[Int(scalar.value)] : String(scalar)
        guard body(Cluster(text: text, width: width)) else { return }
        place = next
      } else {
        guard ClusterSplitter.split(text[place], joining: joining, body) else { return }
        place = text.index(after: place)
      }
    }
  }

  /// One string for each ASCII scalar, so that none is made anew.
  private static let ascii = (UInt8(0)..<128).map { String(Unicode.Scalar($0)) }

  /// The canonical cells of `text`.
  package static func clusters(_ text: String, joining: Joining = Self.joining) -> [Cluster] {
    var found: [Cluster] = []
    forEachCluster(of: text, joining: joining) { cluster in
      found.append(cluster)
      return true
    }
    return found
  }

  /// Columns that `text` takes once it is canonical.
  package static func width(_ text: String) -> Int {
    var text = text
    let plain = text.withUTF8 { bytes in bytes.allSatisfy { (0x20..<0x7F).contains($0) } ? bytes.count : nil }
    if let plain { return plain }
    var columns = 0
    forEachCluster(of: text) { cluster in
      columns += cluster.width
      return true
    }
    return columns
  }

  /// Whether `text` takes more than `columns`; looks no further than it must.
  package static func isWider(_ text: String, than columns: Int) -> Bool {
    var used = 0
    forEachCluster(of: text) { cluster in
      used += cluster.width
      return used <= columns
    }
    return used > columns
  }

  /// The canonical form of `text` in at most `columns`; where it does not fit, it ends with `…`.
  package static func cut(_ text: String, to columns: Int) -> String {
    var result = ""
    for cluster in fitted(text, to: columns).clusters { result += cluster.text }
    return result
  }

  /// The cells of `text` that fit `columns`, the last one `…` where not all do, and how many columns they take.
  static func fitted(_ text: String, to columns: Int) -> (clusters: [Cluster], width: Int) {
    guard columns > 0 else { return ([], 0) }
    var kept: [Cluster] = []
    var used = 0
    var isCut = false
    forEachCluster(of: text) { cluster in
      if used + cluster.width > columns {
        isCut = true
        return false
      }
      kept.append(cluster)
      used += cluster.width
      return true
    }
    guard isCut else { return (kept, used) }
    while used > columns - 1, let last = kept.popLast() { used -= last.width }
    kept.append(Cluster(text: "…", width: 1))
    return (kept, used + 1)
  }

  /// The true scalars of `text`, each as `U+0301`, for a person who asks what a cell holds.
  ///
  /// - Parameter limit: scalars looked at; a further entry `…` says that there are more.
  package static func scalars(_ text: String, limit: Int = 64) -> [String] {
    var names: [String] = []
    for scalar in text.unicodeScalars {
      guard names.count < limit else { return names + ["…"] }
      names.append(codePoint(scalar))
    }
    return names
  }

  /// `U+0041`: at least four hexadecimal digits.
  static func codePoint(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

extension SafeText {
  /// A text as it may go to a terminal: canonical cells, nothing that steers, hides or reorders.
  package static func shown(_ text: String) -> String {
    var result = ""
    forEachCluster(of: text) { cluster in
      result += cluster.text
      return true
    }
    return result
  }

  /// The text in at most `columns`, what does not fit left out of its middle: `curr…code`. Beginning and end of names
  /// tell them apart.
  package static func cutInTheMiddle(_ text: String, to columns: Int) -> String {
    guard isWider(text, than: columns) else { return text }
    guard columns > 2 else { return cut(text, to: columns) }
    let all = clusters(text)
    let (headRoom, tailRoom) = (columns / 2, columns - 1 - columns / 2)
    var (head, tail) = ("", "")
    var used = 0
    for cluster in all {
      guard used + cluster.width <= headRoom else { break }
      head += cluster.text
      used += cluster.width
    }
    used = 0
    for cluster in all.reversed() {
      guard used + cluster.width <= tailRoom else { break }
      tail = cluster.text + tail
      used += cluster.width
    }
    return head + "…" + tail
  }
}
