/// The state that the browser keeps for a store between two starts: columns, views, bookmarks, last place.
package struct Remembered: Sendable, Hashable, Codable {
  package var columns: [String: ColumnChoice] = [:]
  package var views: [NamedView] = []
  package var bookmarks: [String: Bookmark] = [:]
  package var searches: [String] = []
  package var commands: [String] = []
  /// Nil in files of before filters were remembered.
  package var filters: [String]?
  /// The characters that charts are drawn with, if the user chose them.
  package var charts: String?
  /// The fields that label records, by datastore; nil in files of before there were labels.
  package var labels: [String: String]?
  /// The targets of reference fields that no index declares, by datastore and path; nil in files of before there were references.
  package var references: [String: [String: String]]?
  /// How much of the screen a pane takes, by layout and pane, if the user chose it.
  package var sizes: [String: Int]?
  /// The texts typed at the other prompts, by command; nil in files of before they were kept.
  package var arguments: [String: [String]]?
  /// The builds that this browser ran or watched, the newest last; nil in files of before they were kept.
  package var builds: [PastBuild]?
  /// The texts typed into fields and not staged, by place; nil in files of before they were kept.
  package var drafts: [String: String]?
  /// The decisions about a merge that is not committed yet, in files of before those of several were kept.
  package var merge: MergeDraft?
  /// The decisions about merges that are not committed yet, the newest last.
  package var merges: [MergeDraft]?

  /// The filters that were typed, the newest last.
  var knownFilters: [String] {
    get { filters ?? [] }
    set { filters = newValue }
  }

  /// The decisions about merges that are not committed yet, wherever they are kept.
  var mergeDrafts: [MergeDraft] {
    get { (merges ?? []) + [merge].compactMap(\.self) }
    set { (merge, merges) = (nil, newValue.isEmpty ? nil : newValue) }
  }

  func views(of datastore: String) -> [NamedView] { views.filter { $0.datastore == datastore } }
}

/// How a person arranged the columns of a datastore.
package struct ColumnChoice: Sendable, Hashable, Codable {
  /// Paths in the order a person gave them; others follow.
  package var order: [String] = []
  package var hidden: [String] = []
  package var widths: [String: Int] = [:]
  /// How many of the first columns stay in sight.
  package var frozen = 0
  /// How values are written, by path; nil in files of before there were formats.
  package var formats: [String: String]?
  /// The computed columns as they were typed, `density = population / area`; nil in files of before there were some.
  package var computed: [String]?
  /// The joined columns as they were typed, `countrycode name, population`; nil in files of before there were some.
  package var joined: [String]?

  /// The chosen width of a column, within what keys choose: the file may have any number.
  func width(of column: String) -> Int? { widths[column].map { min(max(3, $0), 200) } }
}

/// A filter that was given a name.
package struct NamedView: Sendable, Hashable, Codable {
  package var name: String
  package var datastore: String
  package var filter: String
  /// The whole view as `:query` writes it, if it has more than the filter; nil in files of before there were such views.
  package var query: String?
}

/// A record under a letter; its identifier as a person types it.
package struct Bookmark: Sendable, Hashable, Codable {
  package var datastore: String
  package var identifier: String
}
