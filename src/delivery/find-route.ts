import type { RouteResolver } from '../dns/dns-resolver.ts'
import type { DeliveryJob } from './attempt.ts'
import { deferral, isAbsence } from './outcome.ts'
import { routeTo, type Route, type RouteParts } from './route.ts'

/** What the name servers said of a destination, by which they are judged themselves. */
export interface LookUp {
  name: string
  /** False where they say that there is nowhere to bring its mail. */
  found: boolean
  /** True of a name that the DNS is known to have had. */
  isKnown: boolean
}

export interface FindRouteParts {
  route: RouteParts
  /** Each name server alone, from no cache. */
  eachServer: RouteResolver[]
  /** Told what name servers answered; not what is kept of earlier answers, nor where they could not tell. */
  noteLookUp(lookUp: LookUp): void
}

/**
 * The route of a job. Where there was none at an earlier attempt, each name server is asked by itself, and that there is
 * none is believed only if they find the sender.
 */
export async function findRoute({ destination, isSecondLook, knownName }: DeliveryJob, parts: FindRouteParts): Promise<Route> {
  const route = isSecondLook ? await routeAnew(destination, parts) : await routeTo(destination, parts.route)
  const isAbsent = 'outcome' in route && isAbsence(route.outcome)
  if (isAbsent || ('hosts' in route && !route.isKept)) parts.noteLookUp({ name: destination, found: !isAbsent, isKnown: false })
  if (!isAbsent || !isSecondLook || knownName === null || (await isFound(knownName, parts))) return route
  return uncertain(`the name servers do not even find the sender's ${knownName}, so they are not believed about ${destination}`)
}

/** The route that a name server knows, whichever; that there is none must be said by two of them, or by the only one. */
async function routeAnew(destination: string, { route, eachServer }: FindRouteParts): Promise<Route> {
  const routes = await Promise.all(eachServer.map((resolver) => routeTo(destination, { ...route, resolver })))
  const found = routes.find((each) => 'hosts' in each)
  if (found) return found
  const [final, another] = routes.filter((each) => 'outcome' in each && each.outcome.type === 'bounced')
  if (final && (another || routes.length === 1)) return final
  return uncertain(`${final ? 'only one' : 'none'} of the name servers could tell where mail for ${destination} goes`)
}

async function isFound(knownName: string, { eachServer, noteLookUp }: FindRouteParts): Promise<boolean> {
  const statuses = (await Promise.all(eachServer.map((resolver) => resolver.mx(knownName)))).map(({ status }) => status)
  const found = statuses.includes('ok')
  if (found || !statuses.includes('servfail')) noteLookUp({ name: knownName, found, isKnown: true })
  return found
}

/** RFC 3463 3.5: the fault is that of a directory server. */
const uncertain = (what: string): Route => ({ outcome: deferral('timeout', `4.4.3 ${what}`).outcome })
