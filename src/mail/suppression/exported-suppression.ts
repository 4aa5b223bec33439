import { topicFault } from '../message/send-limits.ts'
import { parseSuppressed } from './suppression-address.ts'
import { parseExportTime } from './export-time.ts'
import { plainName, type ExportShape } from './export-shape.ts'
import type { NewSuppression } from './insert-suppression.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** One entry of an export: its values by plain column name. */
export type ExportRecord = Readonly<Record<string, string>>

/** characters */
const maxReasonLength = 1000

/**
 * What an entry of an export means to us, or why we refuse it. An unreadable or future time becomes now, because the address matters more.
 * `origin`: what the user says all entries are.
 */
export function exportedSuppression(
  record: ExportRecord,
  shape: ExportShape,
  { now, origin }: { now: number; origin: SuppressionOrigin | null },
): { entry: NewSuppression } | { refused: string } {
  const value = (columns: readonly string[] = []): string =>
    record[columns.find((column) => record[column] !== undefined) ?? '']?.trim() ?? ''
  const text = value(shape.address)
  if (text === '') return { refused: 'there is no address. Is the file from the service that --from names?' }
  const parsed = parseSuppressed(text)
  if (!parsed.ok) return { refused: `"${text.slice(0, 100)}" is not an address: ${parsed.fault}` }
  const expiresAt = parseExportTime(value(shape.expiresAt))
  if (expiresAt !== null && expiresAt <= now) return { refused: 'it has expired: the service would write to it again' }
  const told = plainName(value(shape.origin))
  const found = origin ?? (told === '' ? silentOrigin(record, shape) : toldOrigin(told, plainName(value(shape.originDetail)), shape))
  if (found === undefined) return { refused: `"${value(shape.origin).slice(0, 100)}" is not a known reason for a suppression` }
  const createdAt = Math.min(parseExportTime(value(shape.createdAt)) ?? now, now)
  const reason = value(shape.reason).slice(0, maxReasonLength) || null
  const topic = value(shape.topic)
  const fault = topic === '' ? null : topicFault(topic)
  if (fault !== null) return { refused: fault }
  const kept = shape.keepsExpiry ? expiresAt : null
  return { entry: { address: parsed.address, origin: found, topic, sourceId: null, reason, createdAt, expiresAt: kept } }
}

const toldOrigin = (told: string, detail: string, { origins }: ExportShape): SuppressionOrigin | undefined =>
  origins[`${told} ${detail}`] ?? origins[told]

const silentOrigin = (record: ExportRecord, { byColumn = [], otherwise }: ExportShape): SuppressionOrigin =>
  byColumn.find(([column]) => record[column] !== undefined)?.[1] ?? otherwise
