import { maxAheadMs, sendLimits } from '../../mail/message/send-limits.ts'
import type { SendOptions } from '../../mail/message/send-options.ts'
import type { DeliverBy, TransferOptions } from '../../mail/message/transfer-options.ts'
import { isoTime, parseIsoTime } from '../../platform/iso-time.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import { replyOf } from './smtp-refusal.ts'

/** What the parameters of MAIL ask beyond the envelope. */
export type AskedOptions = Pick<SendOptions, 'scheduledAt' | 'expiresIn'> & { transfer: TransferOptions | null }

/** By keyword, upper case; null without a value. */
export type Parameters = Map<string, string | null>

/** The parameters of RFC 4865, 2852 and 6710, which submitters can use. Each may be given once. */
export const submissionParameters = ['HOLDFOR', 'HOLDUNTIL', 'BY', 'MT-PRIORITY']

/** The EHLO lines that offer them. `now`: epoch, ms */
export const offeredToSubmitters = (now: number): string[] => [
  `FUTURERELEASE ${maxAheadMs / 1000} ${isoTime(now + maxAheadMs)}`,
  `DELIVERBY ${sendLimits.minExpiry}`,
  'MT-PRIORITY',
]

const refused = (text: string): Reply => replyOf(501, '5.5.4', text)

/** What is asked; null: nothing. A value that cannot be met is refused, because a submitter relies on it. `now`: epoch, ms */
export function readTransferParameters(parameters: Parameters, now: number): AskedOptions | null | Reply {
  const transfer: TransferOptions = {}
  if (parameters.has('REQUIRETLS')) {
    if (parameters.get('REQUIRETLS') !== null) return refused('REQUIRETLS has no value (RFC 8689)')
    transfer.requireTls = true
  }
  const scheduledAt = readHold(parameters, now)
  if (isReply(scheduledAt)) return scheduledAt
  const by = readDeliverBy(parameters, now)
  if (isReply(by)) return by
  if (by) transfer.deliverBy = by
  const priority = parameters.get('MT-PRIORITY')
  if (priority !== undefined) {
    if (!/^(?:\d|-[1-9])$/.test(priority ?? '')) return refused('MT-PRIORITY is a number from -9 to 9 (RFC 6710)')
    transfer.priority = Number(priority)
  }
  const expiresIn = expiryBy(by, scheduledAt ?? now)
  if (isReply(expiresIn)) return expiresIn
  const isAsked = Object.keys(transfer).length > 0
  return isAsked || scheduledAt !== null ? { scheduledAt, expiresIn, transfer: isAsked ? transfer : null } : null
}

/**
 * How many seconds to try a message that must be returned at a set time, counted from its release (epoch, ms); null: as long as usual.
 * Refused if too few are left.
 */
export function expiryBy(by: DeliverBy | null | undefined, releasedAt: number): number | null | Reply {
  if (by?.mode !== 'R') return null
  const left = Math.floor((by.at - releasedAt) / 1000)
  if (left >= sendLimits.minExpiry) return Math.min(left, sendLimits.maxExpiry)
  return refused(`BY leaves ${Math.max(0, left)} seconds once the message is released; ${sendLimits.minExpiry} are the least`)
}

/** RFC 4865 4; null: at once. */
function readHold(parameters: Parameters, now: number): number | null | Reply {
  const [seconds, time] = [parameters.get('HOLDFOR'), parameters.get('HOLDUNTIL')]
  if (seconds === undefined && time === undefined) return null
  if (seconds !== undefined && time !== undefined) return refused('Give HOLDFOR or HOLDUNTIL, not both (RFC 4865)')
  if (seconds !== undefined && !/^[1-9]\d{0,8}$/.test(seconds ?? '')) return refused('HOLDFOR is a number of seconds (RFC 4865)')
  const at = seconds === undefined ? parseIsoTime((time ?? '').toUpperCase()) : now + Number(seconds) * 1000
  if (at === null) return refused('HOLDUNTIL is a time such as 2026-11-21T08:00:00Z (RFC 4865)')
  if (at - now > maxAheadMs) return refused(`A message can be held for ${maxAheadMs / 1000} seconds at most`)
  return at > now ? at : null
}

/** RFC 2852 4; null if it is not given. No trace is kept (`T`): our notices of what was relayed follow NOTIFY. */
function readDeliverBy(parameters: Parameters, now: number): DeliverBy | null | Reply {
  const value = parameters.get('BY')
  if (value === undefined) return null
  const [, seconds, mode] = /^([+-]?\d{1,9});([NR])T?$/i.exec(value ?? '') ?? []
  if (seconds === undefined) return refused('BY is a number of seconds with a mode, such as 3600;R or 600;N (RFC 2852)')
  const by = { at: now + Number(seconds) * 1000, mode: mode?.toUpperCase() as DeliverBy['mode'] }
  if (by.mode === 'N' || Number(seconds) >= sendLimits.minExpiry) return by
  if (Number(seconds) <= 0) return refused('BY with the mode R needs a time above 0 (RFC 2852)')
  return replyOf(555, '5.5.4', `BY with the mode R can be ${sendLimits.minExpiry} seconds at least`)
}

const isReply = (read: unknown): read is Reply => typeof read === 'object' && read !== null && 'code' in read
