import type { HitJudgement } from './hit.ts'
import { readerRules, type WeightName } from './reader-rules.ts'

/** A sign that a hit comes from a machine. Signs without a slug are never the reason. */
export interface Evidence {
  slug: string | null
  weight: number
}

const strongest = 0.99

/** @param weight its name among the weights of config/reader-rules.json */
export const evidence = (slug: string | null, weight: WeightName): Evidence => ({ slug, weight: readerRules().weights[weight].weight })

/** Combines signs as independent odds. Signs with the same slug say the same thing, so only the strongest counts. */
export function judgementOf(found: readonly Evidence[]): HitJudgement {
  const bySlug = new Map<string | null, number>()
  let human = 1
  for (const { slug, weight } of found) {
    if (slug === null) human *= 1 - weight
    else bySlug.set(slug, Math.max(weight, bySlug.get(slug) ?? 0))
  }
  let reason: string | null = null
  for (const [slug, weight] of bySlug) {
    human *= 1 - weight
    if (reason === null || weight > (bySlug.get(reason) ?? 0)) reason = slug
  }
  const confidence = Math.min(strongest, Math.round((1 - human) * 1000) / 1000)
  const bot = reason !== null && confidence >= 0.5
  return { bot, reason: bot ? reason : null, confidence }
}
