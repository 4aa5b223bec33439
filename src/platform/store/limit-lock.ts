import { crc32 } from 'node:zlib'

/** How many limits can be decided on at a time; each keeps a row. */
const places = 2 ** 16

/** For `Statement.locks`: whoever decides on a limit locks it, also while there is no row of it yet. */
export const limitLock = (key: string): string => `limit ${crc32(key) % places}`
