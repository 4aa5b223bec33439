import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../src/platform/store/database.ts'
import type { StoreFiles } from '../../src/platform/store/store.ts'
import { storedTables } from '../../src/upkeep/erasure/stored-data.ts'
import { testDirectory } from './temporary-directory.ts'

/** What can be read of a text in stored bytes: itself in any case, percent-encoded, in quoted-printable, in base64 at each offset. */
function tracesOf(text: string): string[] {
  const lower = text.toLowerCase()
  const inBase64 = [0, 1, 2].flatMap((offset) =>
    [text, lower, text.toUpperCase()].map((form) => {
      const encoded = Buffer.from(`${'\0'.repeat(offset)}${form}`).toString('base64')
      // Without what the bytes before and behind it decide.
      return encoded.slice(offset === 0 ? 0 : 4, encoded.length - (encoded.length % 4) - 4).toLowerCase()
    }),
  )
  return [lower, encodeURIComponent(lower).toLowerCase(), lower.replaceAll('@', '=40'), ...inBase64.filter((form) => form.length >= 8)]
}

/** Where one of these texts can be read in some form: in the database, its log and a new backup, or in the rows if they are on a server. */
export async function tracesIn({ db, files }: { db: Database; files: StoreFiles | null }, texts: string[]): Promise<string[]> {
  if (files === null) return tracesInRows(db, texts)
  const { backup: copyTo, paths } = files
  const backup = join(testDirectory(), 'backup.db')
  await copyTo(backup)
  const found: string[] = []
  for (const [name, file] of [
    ['database', paths.database],
    ['log', paths.log],
    ['backup', backup],
  ] as const) {
    const bytes = existsSync(file) ? readFileSync(file).toString('latin1').toLowerCase() : ''
    for (const text of texts) if (tracesOf(text).some((trace) => bytes.includes(trace))) found.push(`${text} in the ${name}`)
  }
  return found
}

async function tracesInRows(db: Database, texts: string[]): Promise<string[]> {
  const found = new Set<string>()
  for (const table of Object.keys(storedTables)) {
    for (const row of await db.slowRead(`select * from ${table}`)) {
      const values = Object.values(row).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
      )
      const bytes = values.join('\n').toLowerCase()
      for (const text of texts) if (tracesOf(text).some((trace) => bytes.includes(trace))) found.add(`${text} in the rows`)
    }
  }
  return [...found]
}
