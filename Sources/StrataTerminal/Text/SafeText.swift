/// Text that every terminal shows in the same way: *canonical cells*.
///
/// Terminals disagree on how many columns a string takes, and one column of error breaks every column to its right. So only clusters that
/// all of them measure alike are shown as they are. Others are replaced with a stand-in, distinguished by its style:
///
///     "é"         é             a base and its combining marks, at most 5 scalars, in one cell
///     "日"         日            two columns
///     "👩‍👩‍👧", "का"   👩·, क·      joined only by some terminals: as this one does it (`joining`), else the first scalar and a dot
///     "⚠️"         ⚠             variation selectors are dropped
///     "🇨🇭"        CH            regional indicators as letters
///     "\u{1B}"    ␛             controls as pictures
///     "\u{202E}"  ⟨U+202E⟩      direction and zero-width controls by number
///     newer       □             unassigned in Unicode 14.0, or private
///
/// The widths are a table in the source (`WidthTable`), never the C library's. Everything here is linear in the length of the text;
/// `forEachCluster` stops early, so that a long value costs only its visible part.
package enum SafeText {
  package static var unicodeVersion: String { WidthTable.unicodeVersion }

  /// The largest number of scalars in one cell; ncurses silently drops further ones.
  package static let scalarLimit = 5

  /// The contents of one cell of the screen.
  package struct Cluster: Hashable, Sendable {
    /// The scalars to print: at most `scalarLimit`.
    package var text: String
    /// Columns: 1 or 2.
    package var width: Int
    /// Whether `text` stands for something that is not printed itself.
    package var isStandIn = false
  }

  /// Calls `body` with each canonical cell of `text`, in order, until it returns `false`.
  package static func forEachCluster(
    of text: String, joining: Joining = Self.joining, _ body: (Cluster) -> Bool
  ) {
    let scalars = text.unicodeScalars
    var place = scalars.startIndex
    while place < scalars.endIndex {
      let scalar = scalars[place]
      let next = scalars.index(after: place)
      // Two scalars in a row that each stand alone are two clusters; before anything else a mark may join the first.
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

  /// One string for each ASCII scalar, so that none is made repeatedly.
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

  /// A text with spaces behind it, or before it if `isTrailing` is true, up to a number of columns.
  package static func padded(_ text: String, _ columns: Int, isTrailing: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, columns - width(text)))
    return isTrailing ? space + text : text + space
  }

  /// The columns of `text` in its canonical form.
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

  /// Whether `text` takes more than `columns`; reads no further than necessary.
  package static func isWider(_ text: String, than columns: Int) -> Bool {
    var used = 0
    forEachCluster(of: text) { cluster in
      used += cluster.width
      return used <= columns
    }
    return used > columns
  }

  /// Returns the canonical form of `text` in at most `columns`; if it does not fit, it ends with `…`.
  package static func cut(_ text: String, to columns: Int) -> String {
    fitted(text, to: columns).clusters.map(\.text).joined()
  }

  /// Returns the cells of `text` that fit into `columns`, the last one `…` if not all fit, and the columns they take.
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

  /// Returns the true scalars of `text`, each as `U+0301`, for a user who asks for the contents of a cell.
  ///
  /// - Parameter limit: the number of scalars read; a further entry `…` stands for the rest.
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
  /// Returns a text that is safe for a terminal: canonical cells, without anything that controls, hides or reorders.
  package static func shown(_ text: String) -> String {
    var result = ""
    forEachCluster(of: text) { cluster in
      result += cluster.text
      return true
    }
    return result
  }

  /// Returns the text in at most `columns`, with the middle left out if it does not fit: `curr…code`. Names differ at their beginning and
  /// end.
  package static func cutInTheMiddle(_ text: String, to columns: Int) -> String {
    guard isWider(text, than: columns) else { return text }
    guard columns > 2 else { return cut(text, to: columns) }
    func texts(_ clusters: some Sequence<Cluster>, within columns: Int) -> [String] {
      var used = 0
      return clusters.prefix { cluster in
        used += cluster.width
        return used <= columns
      }.map(\.text)
    }
    let all = clusters(text)
    let tail = texts(all.reversed(), within: columns - 1 - columns / 2)
    return texts(all, within: columns / 2).joined() + "…" + tail.reversed().joined()
  }
}
