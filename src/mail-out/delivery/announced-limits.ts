/** A limit that the host announces (RFC 9422 3); infinite without one, or if it is malformed. We never reach those of recipients. */
export function limitIn(limits: string | undefined, name: string): number {
  const told = limits?.split(' ').find((limit) => limit.startsWith(`${name}=`))
  const value = told?.slice(name.length + 1) ?? ''
  return /^[1-9][0-9]{0,5}$/.test(value) ? Number(value) : Infinity
}
