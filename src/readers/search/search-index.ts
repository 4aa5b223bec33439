import type { BaseServices } from '../../platform/base-services.ts'
import { noteBlocks, removeOldBlocks } from '../../mail/event/event-blocks.ts'
import { LogReader, type LogStep } from '../../mail/event/log-reader.ts'
import { beginPart, insertTerms, loggedTerms, removeEmptyParts, searchCursor } from '../../mail/message/search-terms.ts'
import { firstRows, removeInPieces } from '../../platform/store/remove-in-pieces.ts'

interface BatchLimits {
  /** Events of the first step. Later steps adapt to how long the last one held up the store. */
  firstEvents: number
  maxEvents: number
  /** Events per part of `search_term`. A part of a few megabytes stays cached while it is written. */
  partSize: number
  /** How long to pause after a step, as a multiple of its duration. Steps take longer when others write a lot. */
  restFactor: number
}

const standardPace: BatchLimits = { firstEvents: firstRows, maxEvents: 4_096, partSize: 65_536, restFactor: 3 }

/**
 * Fills the table that list filters use from the event log. Call `keepUp` about once a minute. Searches
 * cover what is after the cursor themselves.
 */
export function searchIndex(services: Pick<BaseServices, 'db' | 'log'>, pace = standardPace): LogReader {
  const { db } = services
  const beginsPart = ({ from, to }: LogStep): boolean => Math.floor(from / pace.partSize) < Math.floor(to / pace.partSize)
  return new LogReader(services, {
    ...pace,
    cursor: searchCursor,
    fault: 'the log could not be read for searches',
    take: async (step) => ({
      statements: [...(beginsPart(step) ? [beginPart] : []), insertTerms(loggedTerms, { ...step }), noteBlocks(step)],
    }),
    async atEnd() {
      await removeInPieces(db, [removeOldBlocks])
      await db.write([removeEmptyParts], { mayBatch: true })
    },
  })
}
