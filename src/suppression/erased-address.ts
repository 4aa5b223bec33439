import { createHmac } from 'node:crypto'
import { suppressionAddress } from './suppression-address.ts'

/** The domain of the addresses that replace erased ones. It can never exist (RFC 6761 6.4). */
export const erasedDomain = 'erased.invalid'

/**
 * What replaces an erased address. It is an address itself, so it fits wherever one is shown. The same address always gets the same
 * replacement, so suppressions stay in force. Without the key file nobody can tell whose it is.
 */
export type ErasedAddress = (address: string) => string

/** hex digits: 160 bits */
const digits = 40

/** @param key of 32 bytes */
export const erasedAddressBy =
  (key: Uint8Array): ErasedAddress =>
  (address) =>
    `${createHmac('sha256', key).update(suppressionAddress(address)).digest('hex').slice(0, digits)}@${erasedDomain}`

export const isErasedAddress = (address: string): boolean => address.endsWith(`@${erasedDomain}`)
