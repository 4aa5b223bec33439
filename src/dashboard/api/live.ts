import { signal } from '@preact/signals'
import { callForResponse, session } from './client.ts'
import type { MailEvent } from './types.ts'

/** `polling`: the stream cannot be had, so pages look again by themselves. */
export const liveState = signal<'live' | 'connecting' | 'polling'>('connecting')

type Listener = (event: MailEvent) => void
const listeners = new Set<Listener>()
let stream: AbortController | null = null
let lastId: string | null = null
let failures = 0
let hiddenTimer: ReturnType<typeof setTimeout> | undefined

const hiddenMs = 60_000
const longestWaitMs = 30_000

/** Calls `listener` for each event of the account while the page is looked at; the function that it gives ends that. */
export function onMailEvent(listener: Listener): () => void {
  listeners.add(listener)
  connect()
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) disconnect()
  }
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer)
  if (document.hidden) hiddenTimer = setTimeout(disconnect, hiddenMs)
  else connect()
})

session.subscribe((current) => {
  if (current === null) {
    lastId = null
    disconnect()
  }
})

function disconnect(): void {
  stream?.abort()
  stream = null
}

function connect(): void {
  if (stream || listeners.size === 0 || document.hidden) return
  const controller = new AbortController()
  stream = controller
  void follow(controller)
}

async function follow(controller: AbortController): Promise<void> {
  while (stream === controller) {
    const startedAt = performance.now()
    try {
      await readStream(controller.signal)
      failures = 0
    } catch {
      // A place in the log that is no longer kept cannot be gone on from.
      if (performance.now() - startedAt < 1_000) lastId = null
      failures++
    }
    if (stream !== controller) return
    liveState.value = failures > 2 ? 'polling' : 'connecting'
    await new Promise((resolve) => setTimeout(resolve, Math.min(longestWaitMs, 1_000 * 2 ** failures)))
  }
}

async function readStream(aborted: AbortSignal): Promise<void> {
  const after = lastId === null ? '' : `?after=${lastId}`
  const response = await callForResponse(`/api/events/stream${after}`, { signal: aborted })
  if (!response.body) return
  liveState.value = 'live'
  failures = 0
  let text = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    text += value
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    blocks.forEach(tell)
  }
}

function tell(block: string): void {
  const lines = block.split('\n')
  const id = lines.find((line) => line.startsWith('id: '))?.slice(4)
  const data = lines.find((line) => line.startsWith('data: '))?.slice(6)
  if (id === undefined || data === undefined) return
  lastId = id
  const event = JSON.parse(data) as MailEvent
  for (const listener of listeners) listener(event)
}
