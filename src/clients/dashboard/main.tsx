import './theme.ts'
import { loadSession } from './api/client.ts'
import { render } from 'preact'
import { App } from './app.tsx'
import { startKeyboard } from './keyboard.ts'
import { startRouter } from './router.tsx'
import { loadTexts } from './texts/texts.ts'

const retryMs = 2_000

/** Tries until the server answers: it may be away for a moment. */
async function eventually(load: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await load()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}

await eventually(loadTexts)
startRouter()
startKeyboard()
render(<App />, document.body)
await eventually(loadSession)
