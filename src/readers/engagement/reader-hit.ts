import type { Hit } from '../tracking/hit.ts'

/** A hit on one recipient's message, by a reader or a machine. */
export interface ReaderHit extends Omit<Hit, 'afterDeliveryMs' | 'ip'> {
  recipientId: string
  /** For a click: its target. */
  link: string | null
  /** For a click: how many links the message has. */
  links: number
  /** Epoch, ms. */
  at: number
  ip: string
}

/** How readers' addresses are stored: whole, truncated to /24 and /48, or not at all. */
export type AddressKeeping = 'full' | 'truncated' | 'none'
