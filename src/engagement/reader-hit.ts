import type { Hit } from '../tracking/hit.ts'

/** What a reader, or a machine, fetched of a recipient's message. */
export interface ReaderHit extends Omit<Hit, 'afterDeliveryMs' | 'ip'> {
  recipientId: string
  /** Of a click: where it led. */
  link: string | null
  /** Of a click: how many links the message has. */
  links: number
  /** Epoch, ms. */
  at: number
  ip: string
}

/** How readers' addresses are stored: whole, truncated to /24 and /48, or not at all. */
export type AddressKeeping = 'full' | 'truncated' | 'none'
