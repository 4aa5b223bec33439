import { createHmac } from 'node:crypto'
import { suppressionAddress } from './suppression-address.ts'

/** The domain of the addresses that replace erased ones. It never exists (RFC 6761 6.4). */
export const erasedDomain = 'erased.invalid'

/**
 * What replaces an erased address: an address too, so it fits wherever one is shown. One address always becomes the same one, so
 * suppressions stay in force; without the key file nobody can find out whose it is.
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
