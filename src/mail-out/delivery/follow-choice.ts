import { chosen, type Choice, type Choices } from '../smarthost/choose-route.ts'
import { direct } from '../smarthost/smarthost-object.ts'
import type { MxRecord } from '../../platform/resolver.ts'
import type { DeliveryJob, Outcome } from './attempt.ts'
import { destinationGroup, providerOfGroup } from './destination-group.ts'
import { deferral } from './outcome.ts'
import type { RouteServices } from './route.ts'
import type { Smarthost } from './smarthost.ts'

interface ChoiceServices {
  resolver: Pick<RouteServices['resolver'], 'mx'>
  /** By name. */
  smarthosts: ReadonlyMap<string, Smarthost>
  /** The one of the settings. */
  smarthost: Smarthost | null
}

/** Who runs the recipient's hosts; null: nobody who is known. */
export const providerOfHosts = (destination: string, mx: readonly MxRecord[]): string | null =>
  providerOfGroup(destinationGroup(destination, mx))

/** Where mail goes, once it is known who runs the recipient's hosts: that is looked up only if a route asks for it. */
export async function finalChoice(
  destination: string,
  choices: Choices,
  { resolver }: Pick<ChoiceServices, 'resolver'>,
): Promise<{ choice: Choice; provider: string | null } | { outcome: Outcome }> {
  if (choices.byProvider.length === 0) return { choice: choices.usual, provider: null }
  const mx = await resolver.mx(destination)
  // It might be one that mail must not go to directly.
  if (mx.status === 'servfail') {
    const reason = `4.4.3 no name server could resolve the MX hosts of ${destination}, by which its route is chosen`
    return { outcome: deferral('timeout', reason).outcome }
  }
  const provider = providerOfHosts(destination, mx.records)
  return { choice: chosen(choices, provider), provider }
}

/** The smarthost that a choice leads to; null: none, so mail goes to the recipient's own hosts. */
export function smarthostOfChoice(
  { via }: Choice,
  { smarthosts, smarthost }: Pick<ChoiceServices, 'smarthosts' | 'smarthost'>,
): Smarthost | null | { outcome: Outcome } {
  if (via === null) return smarthost
  if (via === direct) return null
  // Another node may just have made it known.
  return smarthosts.get(via) ?? { outcome: deferral('internal_error', `4.3.5 the smarthost ${via} of its route is not known`).outcome }
}

/** The smarthost that a job's mail goes by, if any. */
export async function smarthostFor(
  { destination, choices }: Pick<DeliveryJob, 'destination' | 'choices'>,
  services: ChoiceServices,
): Promise<Smarthost | null | { outcome: Outcome }> {
  if (!choices) return services.smarthost
  const final = await finalChoice(destination, choices, services)
  return 'outcome' in final ? final : smarthostOfChoice(final.choice, services)
}
