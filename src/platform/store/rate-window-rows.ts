import type { Row, Statement } from './database.ts'

export interface WindowRow extends Row {
  account_id: string
  first_at: number
  gaps: Uint8Array
}

export const everyWindow = 'select account_id, first_at, gaps from rate_window'

/** `times`: epoch, whole ms, in order, at least one. */
export const saveWindow = (accountId: string, times: Float64Array): Statement => ({
  sql: `insert into rate_window (account_id, first_at, gaps) values (:accountId, :firstAt, :gaps)
        on conflict (account_id) do update set first_at = excluded.first_at, gaps = excluded.gaps`,
  params: { accountId, firstAt: times[0] ?? 0, gaps: encodeGaps(times) },
})

export const deleteWindow = (accountId: string): Statement => ({
  sql: 'delete from rate_window where account_id = :accountId',
  params: { accountId },
})

/** The times in a row: epoch, ms, in order. */
export function timesOf({ first_at: firstAt, gaps }: Pick<WindowRow, 'first_at' | 'gaps'>): number[] {
  const times = [firstAt]
  let at = firstAt
  let gap = 0
  let scale = 1
  for (const byte of gaps) {
    gap += (byte & 0x7f) * scale
    scale *= 0x80
    if (byte & 0x80) continue
    at += gap
    times.push(at)
    gap = 0
    scale = 1
  }
  return times
}

/** A gap of a minute takes three bytes; one that is impossible within a minute is cut to four bytes. */
const maxGap = 2 ** 28 - 1

/** Seven bits per byte, lowest first; the highest bit says that more follow. A busy account needs one byte per request. */
function encodeGaps(times: Float64Array): Uint8Array {
  const bytes = new Uint8Array(times.length * 4)
  let length = 0
  for (let place = 1; place < times.length; place++) {
    let gap = Math.min((times[place] as number) - (times[place - 1] as number), maxGap)
    for (; gap >= 0x80; gap >>>= 7) bytes[length++] = 0x80 | (gap & 0x7f)
    bytes[length++] = gap
  }
  return bytes.slice(0, length)
}
