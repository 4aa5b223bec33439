/** What a submitter asks of the transfer: of us, and of the hosts that the message goes to. */
export interface TransferOptions {
  /** True: REQUIRETLS; false: `TLS-Required: No` (RFC 8689). */
  requireTls?: boolean
  /** RFC 2852 */
  deliverBy?: DeliverBy
  /** -9 … 9; above 0 is more urgent than usual (RFC 6710) */
  priority?: number
}

/** When a message is to have arrived, and what is done if it has not: `R`, it is returned; `N`, its submitter is notified. */
export interface DeliverBy {
  /** Epoch, ms. */
  at: number
  mode: 'N' | 'R'
}

/** When a message that has not arrived is returned, epoch, ms; null: as usual. */
export const returnAtOf = (transfer: TransferOptions | null | undefined): number | null =>
  transfer?.deliverBy?.mode === 'R' ? transfer.deliverBy.at : null

/** Whether it goes ahead of mail that is not. */
export const isUrgent = (transfer: TransferOptions | null): boolean => (transfer?.priority ?? 0) > 0

/** As the API names it. */
export const priorities = ['high', 'normal', 'low'] as const
export type Priority = (typeof priorities)[number]

export function priorityOf(transfer: TransferOptions | null): Priority {
  const { priority = 0 } = transfer ?? {}
  return priority === 0 ? 'normal' : priority > 0 ? 'high' : 'low'
}

/** As RFC 6710 A.1 ranks them. */
export const priorityLevels: Record<Priority, number> = { high: 4, normal: 0, low: -4 }

export const transferColumn = (transfer: TransferOptions | null): string | null => transfer && JSON.stringify(transfer)

export const storedTransfer = (text: string | null): TransferOptions | null =>
  text === null ? null : (JSON.parse(text) as TransferOptions)

/** Of what is stored; null: nothing is asked of TLS. */
export const requireTlsOf = (text: string | null): boolean | null => storedTransfer(text)?.requireTls ?? null

/** What is asked for a message that is sent again: the time of the first has passed. */
export function transferAgain(transfer: TransferOptions | null): TransferOptions | null {
  if (!transfer?.deliverBy) return transfer
  const { deliverBy: _, ...rest } = transfer
  return rest
}
