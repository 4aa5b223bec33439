import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FeedbackReport } from '../../src/feedback/feedback-report.ts'
import { parseFeedback } from '../../src/feedback/parse-feedback.ts'
import { readReturnedMessage } from '../../src/feedback/read-returned-message.ts'

const fixtures = resolve(import.meta.dirname, '../fixtures')
const understand = async (document: Buffer): Promise<FeedbackReport> => parseFeedback(await readReturnedMessage(document))
const withCrlf = (document: Buffer): Buffer => Buffer.from(document.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')

/** Messages of real systems and in their manner; the JSON beside each says what it means, as far as it matters. */
describe.each(['dsn', 'arf'])('%s fixtures', (folder) => {
  const directory = join(fixtures, folder)
  const names = readdirSync(directory).filter((name) => name.endsWith('.eml') && existsSync(join(directory, name.replace('.eml', '.json'))))
  it.each(names)('%s', async (name) => {
    const document = readFileSync(join(directory, name))
    const expected = JSON.parse(readFileSync(join(directory, name.replace('.eml', '.json')), 'utf8')) as object
    expect(await understand(document)).toMatchObject(expected)
    expect(await understand(withCrlf(document))).toMatchObject(expected)
  })
})
