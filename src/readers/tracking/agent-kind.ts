import { isbot } from 'isbot'
import { readerRules, saysOneOf } from './reader-rules.ts'

/**
 * What an agent says about itself. `image_proxy`: it fetches pictures when a person opens the mail; `mail_app`: a program in which people
 * read; `apple_mpp` and `gmail_prefetch` fetch pictures whether or not anybody reads.
 */
export type AgentKind = 'none' | 'apple_mpp' | 'gmail_prefetch' | 'image_proxy' | 'mail_app' | 'robot' | 'browser'

/** characters of an agent that are examined; people's are shorter */
const maxAgentLength = 1000

/** The form in which all rules examine an agent: lower case, and beginning and end only if it is overlong. */
export function agentOf(headers: Record<string, string>): string {
  const agent = (headers['user-agent'] ?? '').trim()
  const half = maxAgentLength / 2
  return (agent.length > maxAgentLength ? `${agent.slice(0, half)} ${agent.slice(-half)}` : agent).toLowerCase()
}

/** @param agent in lower case */
export function agentKind(agent: string, isOpen: boolean): AgentKind {
  const { agents } = readerRules()
  if (agent === '' || agent === '-') return 'none'
  if (saysOneOf(agent, agents.gmail_prefetch)) return 'gmail_prefetch'
  // These fetch only pictures: whoever follows a link under their name is somebody else.
  if (agents.apple_mpp.some(({ is }) => agent === is.toLowerCase())) return isOpen ? 'apple_mpp' : 'robot'
  if (saysOneOf(agent, agents.image_proxies)) return isOpen ? 'image_proxy' : 'robot'
  if (isOpen && saysOneOf(agent, agents.mail_apps_on_pixel)) return 'mail_app'
  if (saysOneOf(agent, agents.robots)) return 'robot'
  if (saysOneOf(agent, agents.mail_apps)) return 'mail_app'
  // `isbot` takes some words in people's agents for those of robots.
  return saysOneOf(agent, agents.people) || !isbot(agent) ? 'browser' : 'robot'
}
