import type { DeliverBy, TransferOptions } from '../../mail/message/transfer-options.ts'

/**
 * The parameters of MAIL (RFC 5321 4.1.1.11) that pass on what is asked of the transfer, each with a space before it, as far as the host offers
 * them.
 * @param at epoch, ms
 */
export function transferParameters(
  { requireTls, deliverBy, priority }: TransferOptions,
  offered: ReadonlyMap<string, string>,
  at: number,
): string {
  let parameters = ''
  if (requireTls === true && offered.has('REQUIRETLS')) parameters += ' REQUIRETLS'
  const by = deliverBy && byParameter(deliverBy, offered.get('DELIVERBY'), at)
  if (by) parameters += ` BY=${by}`
  if (priority !== undefined && offered.has('MT-PRIORITY')) parameters += ` MT-PRIORITY=${priority}`
  return parameters
}

/** The largest number that the parameter has room for. */
const maxSeconds = 999_999_999

/** RFC 2852 4.1.4. A host that cannot deliver in time gets the message without: it is in its hands, and not late yet. */
function byParameter({ at, mode }: DeliverBy, minimum: string | undefined, now: number): string | null {
  if (minimum === undefined) return null
  const seconds = Math.max(-maxSeconds, Math.min(Math.floor((at - now) / 1000), maxSeconds))
  return mode === 'N' || seconds >= Math.max(1, parseInt(minimum, 10) || 0) ? `${seconds};${mode}` : null
}
