import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StoreFiles } from '../../src/platform/store/store.ts'
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

/** The files of a store in which one of these texts can be read in some form: the database, its log and a new backup. */
export async function tracesIn({ backup: copyTo, paths }: StoreFiles, texts: string[]): Promise<string[]> {
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
