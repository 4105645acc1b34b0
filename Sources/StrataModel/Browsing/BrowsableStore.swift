/// A store that an app passes to the browser, with the app's own types: they check edits, and the user can watch migrations.
///
/// The typed library makes one from a persistence and its datastores; the browser shows it.
public struct BrowsableStore: Sendable {
  /// The store that the browser reads and changes.
  package let store: any EditableStore
  /// Converts the store to the app's formats; nil if nothing can be warmed up.
  package let warmUp: (any WarmUpDriver)?

  package init(store: any EditableStore, warmUp: (any WarmUpDriver)?) {
    self.store = store
    self.warmUp = warmUp
  }
}
