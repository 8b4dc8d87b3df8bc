import { describe, expect, it } from 'vitest';
import { AGENTS, HIBERNATED, hibernate, LOOK, logIn, on, program, runExamples } from './example-agents.ts';

describe('the examples when a lease ends between two calls', { timeout: 90_000 }, () => {
  runExamples();

  it.each(AGENTS)('%s: the agent reads why its lease has ended, and its run goes on', async (name, command, file) => {
    const conversationId = `${name}, ended`;
    const end = async () => {
      const [session] = (await on.sessions.list({ userId: 'ada', conversationId })).sessions;
      await on.sessions.end(session?.session_id ?? '');
    };
    on.model.script = [...logIn().slice(0, 1), ...LOOK.map(call => ({ ...call, before: end }))];
    const said = await program(conversationId, command, file)('What are my orders at the bakery?');
    expect(said).toContain('The lease has ended: the platform ended it. Its tabs are closed.');
  });

  it.each(AGENTS)(
    '%s: a hibernated session says what to do, and the next turn finds its login',
    async (name, command, file) => {
      const conversationId = `${name}, hibernated`;
      const turn = program(conversationId, command, file);
      on.model.script = [...logIn(), ...LOOK.map(call => ({ ...call, before: () => hibernate(conversationId) }))];
      expect(await turn('What are my orders at the bakery?')).toContain(HIBERNATED);
      on.model.script = LOOK;
      expect(await turn('And the pie?')).toContain('Welcome back, Ada');
    },
  );
});
