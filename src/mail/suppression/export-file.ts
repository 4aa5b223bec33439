import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { SternaError } from '../../platform/errors.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import { plainName, type ExportShape } from './export-shape.ts'
import type { ExportRecord } from './exported-suppression.ts'
import { JsonEntries } from './json-entries.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** An entry as it is in the file. */
export type FileEntry = { line: number } & ({ record: ExportRecord } | { refused: string })

/** bytes; longer than any row of an export, so an unclosed quotation mark is found before memory runs out */
const maxRowLength = 65_536

/**
 * Reads the entries of an export, CSV or JSON (the file itself shows which), piece by piece.
 * @throws SternaError `validation_error` at the point where the file becomes unreadable, `not_found` if there is none
 */
export async function* readExport(file: string, shape: ExportShape): AsyncGenerator<FileEntry> {
  const pieces = textPieces(file)
  const { value: first = '' } = await pieces.next()
  const whole = joined(first, pieces)
  yield* /^\s*[[{]/.test(first) ? jsonEntries(whole, shape) : csvEntries(whole, delimiterOf(first), shape)
}

async function* textPieces(file: string): AsyncGenerator<string, undefined> {
  let isFirst = true
  try {
    for await (const piece of createReadStream(file, { encoding: 'utf8' })) {
      yield isFirst ? String(piece).replace(/^\ufeff/, '') : String(piece)
      isFirst = false
    }
  } catch (error) {
    throw new SternaError(
      'not_found',
      `${file} cannot be read (${reasonOf(error)}). A running server reads it itself, as its own user and in its own container.`,
      { cause: error },
    )
  }
}

async function* joined(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

/** The usual delimiter that occurs most often in the first line. */
function delimiterOf(text: string): string {
  const [line = ''] = text.split(/\r|\n/, 1)
  const count = (delimiter: string): number => line.split(delimiter).length
  return [',', ';', '\t'].toSorted((a, b) => count(b) - count(a))[0] as string
}

async function* csvEntries(text: AsyncGenerator<string>, delimiter: string, shape: ExportShape): AsyncGenerator<FileEntry> {
  const { CsvError, parse } = await import('csv-parse')
  const source = Readable.from(text)
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: maxRowLength,
  })
  source.once('error', (error) => parser.destroy(error))
  let columns: string[] | null = null
  try {
    for await (const { record: row, info } of source.pipe(parser) as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (columns === null) {
        columns = columnsOf(row, shape)
        if (isHeading(row, shape)) continue
      }
      yield { line: info.lines, record: Object.fromEntries(columns.map((column, place) => [column, row[place] ?? ''])) }
    }
  } catch (error) {
    if (error instanceof CsvError) throw unreadable(error)
    throw error
  } finally {
    source.destroy()
  }
}

const isHeading = (row: string[], { address }: ExportShape): boolean => row.some((cell) => address.includes(plainName(cell)))

function columnsOf(row: string[], shape: ExportShape): string[] {
  if (isHeading(row, shape)) return row.map(plainName)
  const columns = shape.withoutHeading ?? [shape.address[0] as string]
  const address = columns.findIndex((column) => shape.address.includes(column))
  if (parsePasted(row[address] ?? '').ok) return [...columns]
  const seen = row.slice(0, 10).map((cell) => `"${cell.slice(0, 40)}"`)
  throw new SternaError(
    'validation_error',
    `The first line has no column with an address (${shape.address.join(', ')}), but ${seen.join(', ')}.`,
  )
}

async function* jsonEntries(text: AsyncGenerator<string>, shape: ExportShape): AsyncGenerator<FileEntry> {
  const entries = new JsonEntries()
  const read = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw unreadable(error)
    }
  }
  for await (const piece of text) {
    for (const entry of read(() => entries.add(piece))) {
      const found = recordOf(entry.text, shape)
      if (found) yield { line: entry.line, ...found }
    }
  }
  read(() => entries.end())
}

/** Null for an object that only holds an empty list of entries. */
function recordOf(text: string, shape: ExportShape): { record: ExportRecord } | { refused: string } | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { refused: 'it is not valid JSON' }
  }
  if (typeof value === 'string') return { record: { [shape.address[0] as string]: value } }
  const values = Object.entries(value as object)
  const record = Object.fromEntries(values.map(([name, each]) => [plainName(name), textOf(each)]))
  const isHolder = values.some(([, each]) => Array.isArray(each) && each.length === 0) && !shape.address.some((column) => column in record)
  return isHolder ? null : { record }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : Array.isArray(value) ? value.join(',') : ''

const unreadable = (error: unknown): SternaError =>
  new SternaError('validation_error', `The rest of the file cannot be read: ${reasonOf(error)}.`, { cause: error })
