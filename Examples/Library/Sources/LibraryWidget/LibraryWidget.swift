import Foundation
import LibraryModel
import SwiftUI
import WidgetKit

struct SummaryEntry: TimelineEntry {
  var date: Date
  var summary: Summary?
}

/// Reads the store each time that the system asks.
struct SummaryProvider: TimelineProvider {
  func placeholder(in context: Context) -> SummaryEntry { SummaryEntry(date: .now) }

  func getSnapshot(in context: Context, completion: @escaping @Sendable (SummaryEntry) -> Void) {
    Task { completion(await Self.entry()) }
  }

  func getTimeline(in context: Context, completion: @escaping @Sendable (Timeline<SummaryEntry>) -> Void) {
    Task { completion(Timeline(entries: [await Self.entry()], policy: .after(.now.addingTimeInterval(900)))) }
  }

  private static func entry() async -> SummaryEntry {
    guard let url = LibraryLocation.url else { return SummaryEntry(date: .now) }
    return SummaryEntry(date: .now, summary: try? await Summary.read(fromStoreAt: url))
  }
}

@main
struct LibraryWidget: Widget {
  var body: some WidgetConfiguration {
    StaticConfiguration(kind: "Library", provider: SummaryProvider()) { entry in
      if let summary = entry.summary {
        Text("\(summary.bookCount) books")
      } else {
        Text("No library yet")
      }
    }
  }
}
