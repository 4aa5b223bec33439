import { comparedAddress } from '../smtp/address.ts'

/** The form of an address in the list. */
export const suppressionAddress = comparedAddress
