/** What a route asks of mail; null: nothing. */
export interface RouteConditions {
  accountId: string | null
  /** In A-labels, lower case, like all domains here. */
  sendingDomain: string | null
  recipientDomain: string | null
  /** An id of `config/providers.json`. */
  provider: string | null
}

/** Which mail goes by which smarthost. */
export interface SmarthostRoute extends RouteConditions {
  id: string
  /** The name of a smarthost, or `direct`. */
  via: string
}

/** What a route is chosen by, but for the provider. */
export interface RoutedMail {
  accountId: string
  /** Null: of the server itself. */
  sendingDomain: string | null
  destination: string
}

/** Where mail goes. */
export interface Choice {
  /** The name of a smarthost; `direct`: to the recipient's own hosts; null: as the settings say. */
  via: string | null
  /** The route that says so; null: none does. */
  routeId: string | null
}

/** Where the mail of one job goes. */
export interface Choices {
  /** Where the rest goes. */
  usual: Choice
  /** If the destination is of one of these providers. */
  byProvider: { provider: string; choice: Choice }[]
  /** True if other mail for the destination may go another way: then what becomes of this says nothing about that. */
  isOfSome: boolean
}

/**
 * The most specific first: whoever names the recipient's domain, then the provider, then the sending domain, then the account. The
 * recipient's side comes first, as in Postfix, whose `transport_maps` win over `sender_dependent_relayhost_maps`.
 */
export const bySpecificity = (one: RouteConditions, other: RouteConditions): number => rank(other) - rank(one)

const rank = ({ recipientDomain, provider, sendingDomain, accountId }: RouteConditions): number =>
  (recipientDomain === null ? 0 : 8) + (provider === null ? 0 : 4) + (sendingDomain === null ? 0 : 2) + (accountId === null ? 0 : 1)

export const conditionNames = ['recipientDomain', 'provider', 'sendingDomain', 'accountId'] as const

/** What mail must be for a route, and is not; empty if the route is for it. */
export function misfits(route: RouteConditions, { accountId, sendingDomain, destination }: RoutedMail, provider: string | null) {
  const actual: RouteConditions = { accountId, sendingDomain, recipientDomain: destination, provider }
  return conditionNames.filter((name) => route[name] !== null && route[name] !== actual[name])
}

export const bySettings: Choice = { via: null, routeId: null }

/**
 * Where mail goes, as far as that is known before its provider is. Every message asks, and there may be thousands of routes.
 * @param routes by specificity
 * @returns null if no route is for any mail to this destination
 */
export function choicesFor(mail: RoutedMail, routes: readonly SmarthostRoute[]): Choices | null {
  const byProvider: Choices['byProvider'] = []
  let usual: Choice | undefined
  let isOfAny = false
  let isOfSome = false
  for (const { id: routeId, via, accountId, sendingDomain, recipientDomain, provider } of routes) {
    if (recipientDomain !== null && recipientDomain !== mail.destination) continue
    isOfAny = true
    isOfSome ||= accountId !== null || sendingDomain !== null
    if (usual || (accountId !== null && accountId !== mail.accountId)) continue
    if (sendingDomain !== null && sendingDomain !== mail.sendingDomain) continue
    if (provider === null) usual = { via, routeId }
    else if (!byProvider.some((each) => each.provider === provider)) byProvider.push({ provider, choice: { via, routeId } })
  }
  return isOfAny ? { usual: usual ?? bySettings, byProvider, isOfSome } : null
}

/** Where mail goes. `provider`: who runs the recipient's hosts; null: nobody who is known. */
export const chosen = ({ usual, byProvider }: Choices, provider: string | null): Choice =>
  byProvider.find((each) => each.provider === provider)?.choice ?? usual
