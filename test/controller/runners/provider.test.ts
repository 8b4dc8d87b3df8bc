import { OmicronError } from '../../../contract/problem.ts';
import { providerContext } from '../../fakes/provider-context.ts';
import { fakeMachine } from '../../fakes/runners.ts';
import { type ProviderUnderTest, runnerProviderContract } from './provider.contract.ts';
import { atItself, jwks } from './real-runners.ts';

runnerProviderContract('the fake machine', async (): Promise<ProviderUnderTest> => {
  const machine = fakeMachine();
  let exits = 0;
  const another = () => machine.provider(providerContext({ jwks, onChange: () => exits++ }));
  return {
    another,
    broken(why) {
      machine.failNext(new OmicronError(why, 'The browser cannot start on this machine.'));
      return another();
    },
    kill: async id => machine.runner(id).kill(),
    leftovers: async id => [...machine.runners.keys()].filter(each => each === id),
    published: atItself,
    endNoticed: () => exits === 1,
    [Symbol.asyncDispose]: async () => machine.close(),
  };
});
