import { noteBlocks, removeOldBlocks } from '../event/event-blocks.ts'
import { LogReader, type LogStep } from '../event/log-reader.ts'
import type { Log } from '../log.ts'
import { beginPart, insertTerms, loggedTerms, removeEmptyParts, searchCursor } from '../message/search-terms.ts'
import type { Database } from '../store/database.ts'
import { firstRows, removeInPieces } from '../store/remove-in-pieces.ts'

interface Pace {
  /** Events of the first step; how many those that follow have goes by how long the last one held the store. */
  firstEvents: number
  mostEvents: number
  /** Events after which a new part of search_term begins. A part of some megabytes is in the cache while it is written. */
  partSize: number
  /** How much longer than a step took it waits before the next one. A step takes the longer the more others have to write. */
  restFactor: number
}

const standardPace: Pace = { firstEvents: firstRows, mostEvents: 4_096, partSize: 65_536, restFactor: 3 }

/**
 * Fills what lists are searched by, from the event log: `keepUp` is to be called about once a minute. Searches look through what is
 * behind the cursor by themselves.
 */
export function searchIndex(services: { db: Database; log: Log }, pace = standardPace): LogReader {
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
      await db.write([removeEmptyParts], { patient: true })
    },
  })
}
