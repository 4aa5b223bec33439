import { truncatedAddress } from '../../platform/ip-address.ts'
import type { AddressKeeping, ReaderHit } from './reader-hit.ts'

/** What is stored about a reader. */
export interface KeptReader {
  ipAddress: string | null
  userAgent: string | null
}

/** characters */
const maxUserAgentLength = 500
const nobody: KeptReader = { ipAddress: null, userAgent: null }

/** A repeated field is joined with commas. */
const saysOne = (value: string | undefined): boolean => /^\s*1\b/.test(value ?? '')

/** Nothing is stored if the sender wants that, or the reader says so with `Sec-GPC` or `DNT`. */
export function keptReader({ ip, headers }: Pick<ReaderHit, 'ip' | 'headers'>, isAnonymous: boolean, keeping: AddressKeeping): KeptReader {
  if (isAnonymous || saysOne(headers['sec-gpc']) || saysOne(headers['dnt'])) return nobody
  return {
    ipAddress: keeping === 'none' ? null : keeping === 'full' ? ip : truncatedAddress(ip),
    userAgent: headers['user-agent']?.slice(0, maxUserAgentLength).toWellFormed() ?? null,
  }
}
