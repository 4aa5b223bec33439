import type { RouteHost } from './route.ts'

/** How many addresses one attempt tries. */
export const maxTries = 20
/** So many addresses of one host come before those of the next, so that one with many leaves room for the others. */
const maxOfHost = 8
/** How long one that failed comes after all others, ms; longer where one attempt cannot try all. */
const latelyMs = 60_000
const latelyOfManyMs = 3_600_000

interface OrderServices {
  /** When it last failed, performance.now(), unless it has answered since; then -Infinity. */
  failedAt(host: RouteHost): number
  now: number
  /** 0 … 1, where to begin among more addresses than come first: another for each process. */
  rotation: number
}

/**
 * The order in which an attempt tries the addresses of a destination. It is that of the route, but what failed lately comes last, the latest
 * failure at the very end. So if there are more than one attempt can try, the next attempt tries others.
 */
export function inOrder(hosts: RouteHost[], services: OrderServices): RouteHost[] {
  if (hosts.length === 1) return hosts
  const { failedAt, now } = services
  if (hosts.length <= maxOfHost && hosts.every((host) => failedAt(host) === -Infinity)) return hosts
  const byName = groupsOf(hosts).map((group) => rotated(group, services.rotation))
  const byFailure = (one: RouteHost, other: RouteHost): number => compare(failedAt(one), failedAt(other))
  for (const group of byName) group.sort(byFailure)
  const order = [...byName.flatMap((group) => group.slice(0, maxOfHost)), ...byName.flatMap((group) => group.slice(maxOfHost))]
  const since = now - (order.length > maxTries ? latelyOfManyMs : latelyMs)
  const hasFailed = (host: RouteHost): boolean => failedAt(host) > since
  return [...order.filter((host) => !hasFailed(host)), ...order.filter(hasFailed).sort(byFailure)]
}

/** The addresses of each host; those of one are next to each other. */
function groupsOf(hosts: RouteHost[]): RouteHost[][] {
  const groups: RouteHost[][] = []
  for (const host of hosts) {
    const last = groups.at(-1)
    if (last?.[0]?.name === host.name) last.push(host)
    else groups.push([host])
  }
  return groups
}

function rotated(group: RouteHost[], rotation: number): RouteHost[] {
  if (group.length <= maxOfHost) return group
  const at = Math.floor(rotation * group.length)
  return [...group.slice(at), ...group.slice(0, at)]
}

/** -Infinity less -Infinity is NaN. */
const compare = (one: number, other: number): number => (one === other ? 0 : one - other)
